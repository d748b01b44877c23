//! Fewer points that look the same: Largest-Triangle-Three-Buckets (S. Steinarsson,
//! "Downsampling Time Series for Visual Representation", 2013).

/// At most `points_max` of the points, first and last among them.
///
/// Points are `(x, y)`, finite and in order of x. Fewer than two cannot keep both ends: 1 keeps
/// the first, 0 none.
pub fn downsample(points: &[(f64, f64)], points_max: usize) -> Vec<(f64, f64)> {
    picks(points, points_max).into_iter().map(|index| points[index]).collect()
}

/// The indices of the points that [`downsample`] keeps, ascending.
pub(crate) fn picks(points: &[(f64, f64)], points_max: usize) -> Vec<usize> {
    if points.len() <= points_max {
        return (0..points.len()).collect();
    }
    if points_max < 3 {
        return [0, points.len() - 1].into_iter().take(points_max).collect();
    }
    let inner = points.len() - 2;
    let buckets = points_max - 2;
    let start = |bucket: usize| 1 + bucket * inner / buckets;
    let mut picks = vec![0];
    for bucket in 0..buckets {
        // After the last bucket comes the last point alone.
        let next_end = if bucket + 1 < buckets { start(bucket + 2) } else { points.len() };
        let next = mean(&points[start(bucket + 1)..next_end]);
        let before = points[picks[bucket]];
        let area = |index: &usize| triangle(before, points[*index], next);
        let largest = (start(bucket)..start(bucket + 1)).max_by(|a, b| area(a).total_cmp(&area(b)));
        picks.push(largest.expect("there are more inner points than buckets"));
    }
    picks.push(points.len() - 1);
    picks
}

/// Twice the area.
fn triangle(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> f64 {
    ((a.0 - c.0) * (b.1 - a.1) - (a.0 - b.0) * (c.1 - a.1)).abs()
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let sum = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    (sum.0 / points.len() as f64, sum.1 / points.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(heights: &[f64], points_max: usize, kept: &[usize]) {
        let points: Vec<_> = heights.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
        let expected: Vec<_> = kept.iter().map(|index| points[*index]).collect();
        assert_eq!(downsample(&points, points_max), expected);
    }

    #[test]
    fn as_many_as_may_be_are_all_kept() {
        check(&[1.0, 5.0, 2.0], 3, &[0, 1, 2]);
        check(&[], 3, &[]);
    }

    #[test]
    fn the_one_inner_point_is_the_peak() {
        check(&[0.0, 1.0, 9.0, 1.0, 0.0], 3, &[0, 2, 4]);
    }

    /// Buckets {1, 2} and {3, 4}. Against (0, 0) and the mean of the second, (3.5, 4), twice the
    /// areas are |-3.5·1 + 1·4| = 0.5 and |-3.5·0 + 2·4| = 8: point 2. Then against (2, 0) and
    /// (5, 0): |-3·8| = 24 and |-3·0| = 0: point 3.
    #[test]
    fn each_bucket_keeps_the_largest_triangle() {
        check(&[0.0, 1.0, 0.0, 8.0, 0.0, 0.0], 4, &[0, 2, 3, 5]);
    }

    #[test]
    fn too_few_for_both_ends_keep_what_they_can() {
        check(&[1.0, 2.0, 3.0], 2, &[0, 2]);
        check(&[1.0, 2.0, 3.0], 1, &[0]);
        check(&[1.0, 2.0, 3.0], 0, &[]);
    }

    #[test]
    fn one_spike_among_ten_thousand_survives() {
        let mut points: Vec<_> = (0..10_000).map(|x| (f64::from(x), 1.0)).collect();
        points[7_321].1 = 50.0;
        let kept = downsample(&points, 100);
        assert_eq!(kept.len(), 100);
        assert!(kept.contains(&(7_321.0, 50.0)));
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order, none twice");
    }
}
