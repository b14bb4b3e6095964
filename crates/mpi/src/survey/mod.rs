//! `coho-mpi survey`: each node of a job surveys itself, and a manifest says from the start which nodes there are.
//!
//! Of the ranks that share a node, the first has a child survey it; the others sleep. The manifest is a profile whose
//! section `network` lists the nodes, so that whatever ends the job, a later one or a reader knows who is missing.

pub(crate) mod node;
mod nodes;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use coho_probe::host::run_date;
use coho_profile::{Method, Network, Profile, write_unnamed};
use serde::{Deserialize, Serialize};

use crate::job::{Job, Refused, VERSION};
use crate::{network, say};
use nodes::Node;

/// The manifest's name in the folder of the profiles.
const MANIFEST: &str = "manifest.json";
/// How long a rank that waits for surveys sleeps between one look and the next.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write a profile for each node into, called as the node, and manifest.json, which lists them
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    how: node::How,
    /// Survey one node after the other: for nodes that share a machine, a network file system or power
    #[arg(long)]
    staggered: bool,
    /// Survey only those nodes whose profiles an earlier job left missing in DIR
    #[arg(long, conflicts_with = "quick")]
    resume: bool,
}

/// What rank 0 has decided.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    network: Network,
    /// The place of each of this job's nodes in the list of nodes.
    places: Vec<usize>,
}

/// What a node finds in the place of its profile.
#[derive(Debug, Serialize, Deserialize)]
enum Found {
    Nothing,
    Profile,
    Unusable(String),
}

/// Surveys all nodes; all ranks call it.
pub(crate) fn run(job: &Job<'_>, args: &Args) -> Result<()> {
    let here = nodes::of(job)?;
    let leads = job.library.rank == 0;
    let plan = || plan(job, args, &here).map_err(|error| format!("{error:#}"));
    let plan = job.tell(leads.then(plan).as_ref())?.map_err(Refused)?;
    let file = |node: usize| plan.network.nodes[plan.places[node]].file.as_str();
    let own = here.iter().position(|node| node.leads(job.library.rank as u32));

    let found = job.hear(&own.map_or(Found::Nothing, |node| look(&args.output, file(node))))?;
    let found: Vec<&Found> = here.iter().map(|node| &found[node.leader()]).collect();
    refuse(args, &found, file)?;
    let is_wanted = |node: usize| matches!(found[node], Found::Nothing);
    let wanted: Vec<usize> = (0..here.len()).filter(|node| is_wanted(*node)).collect();
    let wrote = leads.then(|| write(&args.output, &plan.network).map_err(|error| format!("{error:#}")));
    job.tell(wrote.as_ref())?.map_err(Refused)?;
    if leads {
        announce(args, &plan, &here, &wanted);
    }

    let how = node::How { quick: plan.network.quick, ..args.how };
    let survey = |node: usize| node::survey(&args.output, file(node), how).err();
    let mut failed = None;
    if args.staggered {
        for &node in &wanted {
            if own == Some(node) {
                failed = survey(node);
            }
            job.library.meet_asleep(PAUSE)?;
        }
    } else {
        failed = own.filter(|node| is_wanted(*node)).and_then(survey);
        job.library.meet_asleep(PAUSE)?;
    }
    let failed: Vec<Option<String>> = job.hear(&failed.map(|error| format!("{error:#}")))?;
    let failed: Vec<_> = here.iter().map(|node| failed[node.leader()].as_deref()).collect();
    if leads {
        say_done(args, &here, &wanted, &failed, file);
    }
    let measured =
        measure_network(job, args, &plan, &here).map_err(|error| error.context("messages between nodes"))?;
    job.tell(measured.as_ref())?.map_err(Refused)?;
    let lacking = failed.iter().flatten().count();
    if lacking > 0 {
        let all = here.len();
        return Err(Refused(format!("{lacking} of {all} nodes could not be surveyed")).into());
    }
    Ok(())
}

/// Adds to the manifest what messages between the nodes cost, unless it has that. What rank 0 says of it.
fn measure_network(
    job: &Job<'_>,
    args: &Args,
    plan: &Plan,
    here: &[Node],
) -> Result<Option<Result<(), String>>> {
    let leads = job.library.rank == 0;
    if here.len() < 2 || !plan.network.messages.is_empty() {
        return Ok(leads.then_some(Ok(())));
    }
    let leaders: Vec<usize> = here.iter().map(Node::leader).collect();
    let limit = Duration::from_secs(if plan.network.quick { 5 } else { 30 });
    let measured = network::measure(job, &leaders, limit)?;
    // Those that have no part in it, and those that have ended theirs.
    job.library.meet_asleep(PAUSE)?;
    let Some(measured) = measured else { return Ok(None) };
    let place = |node: u32| plan.places[node as usize] as u32;
    let mut network = plan.network.clone();
    network.method = Method { date: network.method.date, ..measured.method };
    network.messages = measured.messages;
    for row in &mut network.messages {
        let [a, b] = [row.a, row.b].map(place);
        (row.a, row.b) = (a.min(b), a.max(b));
    }
    network.ends = measured.ends;
    for row in &mut network.ends {
        (row.a, row.b) = (place(row.a), place(row.b));
    }
    Ok(Some(write(&args.output, &network).map_err(|error| format!("{error:#}"))))
}

/// Which nodes there are, and how they are surveyed: as an earlier job began it, or anew.
fn plan(job: &Job<'_>, args: &Args, here: &[Node]) -> Result<Plan> {
    let manifest = args.output.join(MANIFEST);
    let mut network = match (args.resume, manifest.symlink_metadata().is_ok()) {
        (true, _) => resumed(&manifest)?,
        (false, false) => {
            fs::create_dir_all(&args.output)
                .with_context(|| format!("cannot make the folder {}", args.output.display()))?;
            Network {
                method: Method { date: Some(run_date()), ..Method::default() },
                coho_version: VERSION.into(),
                quick: args.how.quick,
                library: job.library.version.clone(),
                ..Network::default()
            }
        }
        (false, true) => anyhow::bail!(
            "{} is of an earlier survey: --resume measures what it lacks; a new survey needs another folder",
            manifest.display()
        ),
    };
    let places = nodes::list(&mut network.nodes, here).map_err(anyhow::Error::msg)?;
    Ok(Plan { network, places })
}

/// What an earlier job began.
fn resumed(manifest: &Path) -> Result<Network> {
    let network = Profile::read(manifest).context("nothing to resume")?.network;
    let network = network.with_context(|| format!("{} lists no nodes", manifest.display()))?;
    anyhow::ensure!(
        network.coho_version == VERSION,
        "{} is of coho-mpi {}, and this is {VERSION}: survey all nodes by one version",
        manifest.display(),
        network.coho_version.escape_debug()
    );
    Ok(network)
}

fn look(folder: &Path, file: &str) -> Found {
    let path = folder.join(file);
    if path.symlink_metadata().is_err() {
        return match fs::create_dir_all(folder) {
            Ok(()) => Found::Nothing,
            Err(error) => Found::Unusable(format!("{}: {error}", folder.display())),
        };
    }
    match Profile::read(&path) {
        Ok(_) => Found::Profile,
        Err(error) => Found::Unusable(error.to_string()),
    }
}

/// Nothing is measured if a node's profile cannot be written, or would replace another.
fn refuse<'f>(args: &Args, found: &[&Found], file: impl Fn(usize) -> &'f str) -> Result<(), Refused> {
    for (node, found) in found.iter().enumerate() {
        match found {
            Found::Unusable(why) => return Err(Refused(why.clone())),
            Found::Profile if !args.resume => {
                let path = args.output.join(file(node));
                return Err(Refused(format!("{} is there already; name another folder", path.display())));
            }
            Found::Profile | Found::Nothing => {}
        }
    }
    Ok(())
}

/// Writes the manifest, with whatever else its file holds.
fn write(folder: &Path, network: &Network) -> Result<()> {
    let path = folder.join(MANIFEST);
    let mut profile = if path.exists() { Profile::read(&path)? } else { Profile::default() };
    profile.network = Some(network.clone());
    Ok(write_unnamed(&path, profile.to_json().as_bytes())?)
}

fn announce(args: &Args, plan: &Plan, here: &[Node], wanted: &[usize]) {
    let mut files = BTreeMap::<&str, Vec<&str>>::new();
    for (node, place) in here.iter().zip(&plan.places) {
        files.entry(&node.host).or_default().push(&plan.network.nodes[*place].file);
    }
    for (host, files) in files.iter().filter(|(_, files)| files.len() > 1) {
        let names = files.join(" and ");
        say(&format!("{} nodes are called {}: {names}, by their ranks", files.len(), host.escape_debug()));
    }
    let mut kernels = BTreeMap::<&str, Vec<String>>::new();
    for node in wanted.iter().map(|node| &here[*node]) {
        if let Some(boot) = &node.boot {
            kernels.entry(boot).or_default().push(node.host.escape_debug().to_string());
        }
    }
    for hosts in kernels.values().filter(|hosts| hosts.len() > 1 && !args.staggered) {
        say(&format!(
            "{} run on one kernel: their surveys disturb each other, unless they are --staggered",
            hosts.join(" and ")
        ));
    }
    let gone = plan.network.nodes.iter().enumerate().filter(|(place, _)| !plan.places.contains(place));
    for (_, node) in gone.filter(|(_, node)| matches!(look(&args.output, &node.file), Found::Nothing)) {
        say(&format!("{} is missing, and no node of this job", node.host.escape_debug()));
    }
    let how = if args.staggered { "one after the other" } else { "at once" };
    let surveyed = here.len() - wanted.len();
    let known = if surveyed > 0 { format!("; {surveyed} are surveyed already") } else { String::new() };
    match wanted.len() {
        0 if here.len() == 1 => say("the node is surveyed already"),
        0 => say(&format!("all {} nodes are surveyed already", here.len())),
        1 => say(&format!("surveying 1 node into {}{known}", args.output.display())),
        n => say(&format!("surveying {n} nodes {how} into {}{known}", args.output.display())),
    }
}

fn say_done<'f>(
    args: &Args,
    here: &[Node],
    wanted: &[usize],
    failed: &[Option<&str>],
    file: impl Fn(usize) -> &'f str,
) {
    for &node in wanted {
        let (host, path) = (here[node].host.escape_debug(), args.output.join(file(node)));
        match failed[node] {
            Some(why) => say(&format!("{host}: not surveyed: {}", why.escape_debug())),
            None if path.exists() => {}
            None => say(&format!("rank 0 does not see {}: it may lie on {host} alone", path.display())),
        }
    }
}
