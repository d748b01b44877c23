//! One taxi trip, its fields in step with each other.
//!
//! Real-like: the shares (vendors, payment, rate codes, nulls), the hours of the day, the busy
//! zones and the spread of distances and speeds are rounded from what the public records of recent
//! years show; fares and surcharges follow the tariff that New York's Taxi and Limousine Commission
//! publishes. They are close enough for sizes, encodings and queries to behave as on the real
//! table, and no source for statements about traffic.

use crate::draw::Draw;

/// 2024-01-01 00:00:00, a Monday.
const MONTH_START_S: i64 = 1_704_067_200;
const MONTH_DAYS: u64 = 31;
/// Trips that begin in each hour of a day, in thousandths.
const HOUR_WEIGHTS: [u64; 24] =
    [28, 19, 13, 9, 6, 7, 15, 28, 39, 42, 45, 49, 53, 54, 58, 60, 61, 67, 71, 64, 58, 59, 54, 41];
/// Log-normal, median 1.75 miles, sigma 0.8, in hundredths of a mile.
const TOWN_DISTANCES: [i64; 33] = [
    19, 39, 51, 61, 70, 78, 86, 94, 102, 110, 118, 127, 136, 145, 154, 164, 175, 186, 198, 212,
    226, 241, 259, 278, 300, 326, 356, 393, 439, 502, 597, 777, 1577,
];
const AIRPORT_DISTANCES: [i64; 5] = [780, 940, 1_260, 1_780, 2_240];
/// Log-normal, median 10.5 miles an hour, sigma 0.32, in tenths of a mile an hour.
const SPEEDS: [i64; 33] = [
    44, 58, 64, 69, 73, 76, 79, 82, 85, 87, 90, 92, 95, 97, 100, 102, 105, 108, 110, 113, 116, 119,
    123, 126, 130, 135, 139, 145, 152, 160, 172, 191, 253,
];
/// Tips of those who pay by card, in thousandths of what they owe; the suggested 20, 25 and 30 %
/// show as steps.
const TIPS: [i64; 9] = [0, 100, 180, 200, 200, 250, 250, 300, 420];
const NEWARK: i32 = 1;
const JFK: i32 = 132;
const LA_GUARDIA: i32 = 138;
/// The busiest zones, all of them below Central Park's northern end, with their share in
/// thousandths; all 265 zones share the rest.
const BUSY_ZONES: [(u32, i32); 24] = [
    (52, 237),
    (51, 161),
    (47, 236),
    (37, 162),
    (36, 186),
    (35, 230),
    (35, 142),
    (31, 170),
    (30, 239),
    (30, 163),
    (29, 234),
    (28, 48),
    (27, 68),
    (26, 141),
    (25, 79),
    (24, 164),
    (22, 249),
    (22, 107),
    (21, 238),
    (20, 140),
    (19, 263),
    (18, 229),
    (17, 246),
    (318, 0),
];
/// The toll of most bridges and tunnels, with the tag that taxis carry.
const TOLL_CENTS: i32 = 694;
/// Pickups are in order but for this much.
const DISORDER_S: u32 = 600;

/// A trip, with money in cents.
pub(super) struct Trip {
    pub(super) vendor: i32,
    pub(super) pickup_us: i64,
    pub(super) dropoff_us: i64,
    pub(super) distance_hundredths: i32,
    pub(super) pickup_zone: i32,
    pub(super) dropoff_zone: i32,
    /// 0 flexible fare, 1 card, 2 cash, 3 no charge, 4 dispute.
    pub(super) payment: i64,
    pub(super) fare_cents: i32,
    pub(super) extra_cents: i32,
    pub(super) mta_tax_cents: i32,
    pub(super) tip_cents: i32,
    pub(super) tolls_cents: i32,
    pub(super) improvement_cents: i32,
    pub(super) congestion_cents: i32,
    pub(super) airport_cents: i32,
    pub(super) total_cents: i32,
    /// `None` for trips that were booked elsewhere at a flexible fare: the columns that are null
    /// together.
    pub(super) reported: Option<Reported>,
}

impl Trip {
    /// Trip number `row` of `rows`.
    pub(super) fn new(draw: &mut Draw, row: u64, rows: u64) -> Self {
        let pickup_s = pickup_s(draw, row, rows);
        let route = Route::new(draw);
        let vendor = draw.weighted(&[(240, 1), (759, 2), (1, 6)]);
        let reported = (!draw.chance(50)).then(|| Reported::new(draw, &route));
        let rate_code = reported.map_or(1, |reported| reported.rate_code);
        let payment = match reported {
            None => 0,
            Some(_) => draw.weighted(&[(810, 1), (165, 2), (7, 3), (18, 4)]),
        };
        let fare_cents = route.fare_cents(draw, rate_code);
        let congestion_cents = if route.touches_centre() { 250 } else { 0 };
        let airport_cents = if [JFK, LA_GUARDIA].contains(&route.pickup_zone) { 175 } else { 0 };
        // The first vendor books both surcharges under `extra` as well, and adds them once.
        let surcharges_cents = congestion_cents + airport_cents;
        let extra_cents =
            hour_extra_cents(pickup_s) + if vendor == 1 { surcharges_cents } else { 0 };
        let mut trip = Self {
            vendor,
            pickup_us: pickup_s * 1_000_000,
            dropoff_us: (pickup_s + i64::from(route.duration_s)) * 1_000_000,
            distance_hundredths: route.distance_hundredths,
            pickup_zone: route.pickup_zone,
            dropoff_zone: route.dropoff_zone,
            payment,
            fare_cents,
            extra_cents,
            mta_tax_cents: if [3, 5].contains(&rate_code) { 0 } else { 50 },
            tip_cents: 0,
            tolls_cents: route.tolls_cents(draw),
            improvement_cents: 100,
            congestion_cents,
            airport_cents,
            total_cents: 0,
            reported,
        };
        let due_cents = trip.due_cents();
        if payment == 1 {
            let thousandths = narrow(draw.quantile(&TIPS));
            trip.tip_cents = due_cents / 10 * thousandths / 100;
        }
        trip.total_cents = due_cents + trip.tip_cents;
        // Half of what was disputed or not charged is booked a second time to cancel it.
        if 3 <= payment && draw.chance(500) { trip.negated() } else { trip }
    }

    fn due_cents(&self) -> i32 {
        let surcharges_cents = self.congestion_cents + self.airport_cents;
        self.fare_cents
            + self.extra_cents
            + self.mta_tax_cents
            + self.tolls_cents
            + self.improvement_cents
            + if self.vendor == 1 { 0 } else { surcharges_cents }
    }

    fn negated(self) -> Self {
        Self {
            fare_cents: -self.fare_cents,
            extra_cents: -self.extra_cents,
            mta_tax_cents: -self.mta_tax_cents,
            tolls_cents: -self.tolls_cents,
            improvement_cents: -self.improvement_cents,
            congestion_cents: -self.congestion_cents,
            airport_cents: -self.airport_cents,
            total_cents: -self.total_cents,
            ..self
        }
    }
}

/// What the meter in the car reports.
#[derive(Clone, Copy)]
pub(super) struct Reported {
    pub(super) passengers: i64,
    /// 1 standard, 2 JFK, 3 Newark, 4 Nassau, 5 negotiated, 99 unknown.
    pub(super) rate_code: i64,
    /// Kept in the car's memory for want of a connection.
    pub(super) stored: bool,
}

impl Reported {
    fn new(draw: &mut Draw, route: &Route) -> Self {
        let passengers =
            draw.weighted(&[(8, 0), (745, 1), (150, 2), (37, 3), (25, 4), (17, 5), (18, 6)]);
        let rate_code = match draw.below(1_000) {
            0..10 => 5,
            10..15 => 99,
            15..17 => 4,
            _ if route.dropoff_zone == NEWARK => 3,
            _ if route.touches(JFK) && route.touches_centre() => 2,
            _ => 1,
        };
        Self { passengers, rate_code, stored: draw.chance(4) }
    }
}

/// From where to where, and how long it takes.
struct Route {
    pickup_zone: i32,
    dropoff_zone: i32,
    distance_hundredths: i32,
    duration_s: i32,
    airport: bool,
}

impl Route {
    fn new(draw: &mut Draw) -> Self {
        let airport = draw.chance(85);
        let (pickup_zone, dropoff_zone) = if airport {
            let airport = draw.weighted(&[(550, JFK), (410, LA_GUARDIA), (40, NEWARK)]);
            let town = zone(draw);
            // These taxis may bring guests to Newark, but not fetch them there.
            let from_airport = airport != NEWARK && draw.chance(600);
            if from_airport { (airport, town) } else { (town, airport) }
        } else {
            let pickup_zone = zone(draw);
            (pickup_zone, if draw.chance(70) { pickup_zone } else { zone(draw) })
        };
        let distance_hundredths = match airport {
            true => draw.quantile(&AIRPORT_DISTANCES),
            false if draw.chance(15) => 0,
            false => draw.quantile(&TOWN_DISTANCES),
        };
        // Out of town it goes twice as fast.
        let speed_tenths = draw.quantile(&SPEEDS) * if airport { 2 } else { 1 };
        let wait_s = i64::from(draw.below(240));
        let duration_s = narrow(distance_hundredths * 360 / speed_tenths + wait_s);
        let distance_hundredths = narrow(distance_hundredths);
        Self { pickup_zone, dropoff_zone, distance_hundredths, duration_s, airport }
    }

    fn touches(&self, zone: i32) -> bool {
        self.pickup_zone == zone || self.dropoff_zone == zone
    }

    fn touches_centre(&self) -> bool {
        BUSY_ZONES.iter().any(|&(_, zone)| zone != 0 && self.touches(zone))
    }

    fn fare_cents(&self, draw: &mut Draw, rate_code: i64) -> i32 {
        // 70 cents for a fifth of a mile, or for a minute at a stand, here a third of the time.
        let metered_cents =
            300 + 70 * (self.distance_hundredths / 20) + 70 * (self.duration_s / 180);
        match rate_code {
            2 => 7_000,
            3 => metered_cents + 2_000,
            5 => 2_000 + 100 * narrow(draw.below(90).into()),
            _ => metered_cents,
        }
    }

    fn tolls_cents(&self, draw: &mut Draw) -> i32 {
        let per_mille = if self.airport { 520 } else { 12 };
        if draw.chance(per_mille) { TOLL_CENTS } else { 0 }
    }
}

/// Trips spread over the month by the hour's weight, then shaken a little.
fn pickup_s(draw: &mut Draw, row: u64, rows: u64) -> i64 {
    const DAY_PARTS: u128 = 1_000 * 3_600;
    let part = u128::from(row) * u128::from(MONTH_DAYS) * DAY_PARTS / u128::from(rows);
    let day = u64::try_from(part / DAY_PARTS).expect("below the days of a month");
    let mut part = u64::try_from(part % DAY_PARTS).expect("below the parts of a day");
    let mut hour = 0;
    while HOUR_WEIGHTS[hour] * 3_600 <= part {
        part -= HOUR_WEIGHTS[hour] * 3_600;
        hour += 1;
    }
    let second = day * 86_400 + hour as u64 * 3_600 + part / HOUR_WEIGHTS[hour];
    let second = second.cast_signed() + i64::from(draw.below(2 * DISORDER_S));
    let last = MONTH_DAYS.cast_signed() * 86_400 - 1;
    MONTH_START_S + (second - i64::from(DISORDER_S)).clamp(0, last)
}

/// The surcharges of the rush hour on working days and of the night.
fn hour_extra_cents(pickup_s: i64) -> i32 {
    let day = (pickup_s - MONTH_START_S) / 86_400;
    let hour = pickup_s / 3_600 % 24;
    // The month begins on a Monday.
    let working_day = day % 7 < 5;
    match hour {
        16..20 if working_day => 250,
        0..6 | 20..24 => 100,
        _ => 0,
    }
}

fn zone(draw: &mut Draw) -> i32 {
    match draw.weighted(&BUSY_ZONES) {
        0 => 1 + narrow(draw.below(265).into()),
        busy => busy,
    }
}

/// Distances, times and amounts of one trip, all far below 2^31.
fn narrow(value: i64) -> i32 {
    i32::try_from(value).expect("the tables above bound every value")
}

const _: () = {
    let (mut sum, mut index) = (0, 0);
    while index < HOUR_WEIGHTS.len() {
        sum += HOUR_WEIGHTS[index];
        index += 1;
    }
    assert!(sum == 1_000, "the hours of a day are a thousand thousandths");
};
