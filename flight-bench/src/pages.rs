//! What shells and man(1) want to know of the command line.

use anyhow::Context;

use crate::cli::{self, CompletionsArgs};
use crate::exit::{Exit, Stop};
use crate::report;

/// Prints a shell's completions.
///
/// # Errors
///
/// Stdout is gone.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Stop> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "flight-bench", &mut text);
    print(text)
}

/// Prints the manual: one page with all commands.
///
/// # Errors
///
/// Stdout is gone.
pub(crate) fn man() -> Result<Exit, Stop> {
    let mut text = Vec::new();
    let mut command = cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut text).context("the manual page")?;
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        let name = format!("flight-bench {}", part.get_name());
        let page = clap_mangen::Man::new(part.clone().bin_name(name.clone()));
        let title = format!(".SH {}\n", name.to_uppercase());
        text.extend_from_slice(title.as_bytes());
        page.render_synopsis_section(&mut text).context("the manual page")?;
        page.render_description_section(&mut text).context("the manual page")?;
        page.render_options_section(&mut text).context("the manual page")?;
    }
    print(text)
}

fn print(text: Vec<u8>) -> Result<Exit, Stop> {
    let text = String::from_utf8(text).context("a page in UTF-8")?;
    report::print(&text)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn every_shell_has_completions_of_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut cli::command(), "flight-bench", &mut text);
            let text = String::from_utf8_lossy(&text);
            for command in cli::command().get_subcommands().filter(|one| !one.is_hide_set()) {
                assert!(text.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
