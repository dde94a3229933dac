import { useState } from "react";
import { toApiError } from "../../api/loadable";
import type { Experiment, Trial } from "../../api/types";
import { Popup } from "../../components/forms/dialog";
import { Editable } from "../../components/forms/edit";
import { capitalized, count, formatNumber, hasRun, isTerminal, runTime, stateName } from "../../components/format";
import { labelsOf, labelsText } from "../../components/forms/labels";
import { useRights } from "../../components/people/me";
import { Age, Labels, Problem, Progress, StateBadge } from "../../components/parts";
import { go, Link } from "../../components/address/route";
import { BoardButton } from "../tasks/board";
import { act, change } from "./api";
import { type Action, actions, explanations, isDangerous, placeOf, planMove } from "./changing/actions";
import { ActionDialog } from "./list/bulk";
import { ForkDialog } from "./changing/fork";
import { canGoOn } from "./changing/go_on";
import { GoOnDialog } from "./changing/go_on_dialog";
import { MoveDialog } from "./list/move";
import { sizeFields } from "./changing/resize";
import { ResizeDialog } from "./changing/resize_dialog";

interface HeadProps {
  readonly experiment: Experiment;
  readonly trials: readonly Trial[];
  readonly reload: () => void;
}

/** What the experiment is called, how it is doing, and what one can do with it. */
export function Head({ experiment, trials, reload }: HeadProps) {
  const { id, name, description, labels, state } = experiment;
  const over = isTerminal(state);
  const { may } = useRights();
  const changes = may("UPDATE_EXPERIMENT", placeOf(experiment));
  // A search is completed also where some of its trials are not.
  const failed = state === "STATE_ERROR" ? 0 : trials.filter((trial) => trial.state === "STATE_ERROR").length;
  const save = (what: Parameters<typeof change>[1]) => change(id, what).then(reload);
  return (
    <header className="pagehead">
      <div className="row">
        <h1>
          <span className="quiet">Experiment {id}</span>{" "}
          <Editable what="name" value={name} may={changes} onSave={(text) => save({ name: text })}>
            {name || "(no name)"}
          </Editable>
        </h1>
        <StateBadge state={state} />
        {!over && <Progress fraction={experiment.progress} />}
        {experiment.archived && <span className="label">archived</span>}
        <div className="actions">
          <Buttons experiment={experiment} trials={trials} reload={reload} />
        </div>
      </div>
      <p>
        <Editable what="description" value={description} may={changes} onSave={(text) => save({ description: text })}>
          {description && description !== name ? description : <span className="quiet">No description</span>}
        </Editable>
      </p>
      <p className="quiet row">
        <span>
          <Link to={{ page: "project", id: experiment.projectId, tab: "experiments" }} title="Project">
            {experiment.workspaceName === experiment.projectName
              ? experiment.projectName
              : `${experiment.workspaceName} / ${experiment.projectName}`}
          </Link>
        </span>
        <span>{experiment.username}</span>
        <span>
          {experiment.searcherType} · {count(experiment.numTrials, "trial")}
        </span>
        {failed > 0 && (
          <Link to={{ page: "experiment", id, tab: "trials" }} className="state bad" title="Failed trials">
            {failed} failed
          </Link>
        )}
        <span>
          {hasRun(state) ? "started" : "submitted"} <Age time={experiment.startTime} />,{" "}
          {hasRun(state)
            ? `${over ? "ran for" : "running for"} ${runTime(experiment.startTime, experiment.endTime, Date.now())}`
            : stateName(state)}
        </span>
        {experiment.bestTrialId && (
          <span>
            best {experiment.searcherMetric} <strong>{formatNumber(experiment.bestTrialSearcherMetric)}</strong> by{" "}
            <Link to={{ page: "trial", id: experiment.bestTrialId, tab: "overview" }}>trial {experiment.bestTrialId}</Link>
          </span>
        )}
        {experiment.forkedFrom && (
          <span>
            forked from{" "}
            <Link to={{ page: "experiment", id: experiment.forkedFrom, tab: "overview" }}>{experiment.forkedFrom}</Link>
          </span>
        )}
        <Editable
          what="labels, separated by commas"
          value={labelsText(labels)}
          may={changes}
          onSave={(text) => save({ labels: labelsOf(text) })}
        >
          {labels.length > 0 ? <Labels labels={labels} /> : "No labels"}
        </Editable>
      </p>
      {experiment.error && <Problem text={experiment.error} />}
      {!over && experiment.waitingReason && <p className="quiet">Waiting: {experiment.waitingReason}</p>}
    </header>
  );
}

function Buttons({ experiment, trials, reload }: HeadProps) {
  const [asks, setAsks] = useState<Action>();
  const [forks, setForks] = useState<"fork" | "continue">();
  const [moves, setMoves] = useState(false);
  const [resizes, setResizes] = useState(false);
  const [goesOn, setGoesOn] = useState(false);
  const { may } = useRights();
  const place = placeOf(experiment);
  const changes = may("UPDATE_EXPERIMENT", place);
  const creates = may("CREATE_EXPERIMENT", place);
  const movable = planMove(0, [experiment], may).acts.length > 0;
  const resizable = changes && !experiment.unmanaged && sizeFields(experiment.config, experiment.state).length > 0;
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const possible = actions(experiment, may);
  const first = possible.filter((action) => action === "pause" || action === "activate" || action === "cancel" || action === "kill");
  const more = possible.filter((action) => !(first as readonly Action[]).includes(action));
  const run = async (action: Action) => {
    if (isDangerous(action)) return setAsks(action);
    setBusy(true);
    setProblem("");
    try {
      await act(experiment.id, action);
      reload();
    } catch (cause) {
      setProblem(toApiError(cause).message);
    } finally {
      setBusy(false);
    }
  };
  const button = (action: Action) => (
    <button key={action} type="button" title={explanations[action]} disabled={busy} onClick={() => void run(action)}>
      {capitalized(action)}
    </button>
  );
  const goes = changes && canGoOn(experiment);
  const continued = creates && trials.some(({ checkpointCount }) => (checkpointCount ?? 0) > 0);
  return (
    <>
      <Problem text={problem} />
      {first.map(button)}
      {creates && (
        <button type="button" title="Create a new experiment with the same files and configuration" onClick={() => setForks("fork")}>
          Fork
        </button>
      )}
      <BoardButton experimentIds={[experiment.id]} workspace={experiment.workspaceId} />
      {continued && (
        <button type="button" title="Create a new experiment that starts from a checkpoint of this one" onClick={() => setForks("continue")}>
          Continue
        </button>
      )}
      {(goes || resizable || movable || more.length > 0) && (
      <Popup label="More">
        {goes && (
          <button type="button" title="The same trial resumes from its latest checkpoint" onClick={() => setGoesOn(true)}>
            Resume
          </button>
        )}
        {resizable && (
          <button type="button" title="Change the size of the search, its slots, and its priority" onClick={() => setResizes(true)}>
            {isTerminal(experiment.state) ? "Extend search" : "Edit search and resources"}
          </button>
        )}
        {movable && (
          <button type="button" title="Move to another project" onClick={() => setMoves(true)}>
            Move
          </button>
        )}
        {more.map(button)}
      </Popup>
      )}
      {resizes && <ResizeDialog experiment={experiment} onDone={reload} onClose={() => setResizes(false)} />}
      {goesOn && <GoOnDialog experiment={experiment} onDone={reload} onClose={() => setGoesOn(false)} />}
      {moves && <MoveDialog chosen={[experiment]} onDone={reload} onClose={() => setMoves(false)} />}
      {asks !== undefined && (
        <ActionDialog
          action={asks}
          chosen={[experiment]}
          onDone={(gone) => (asks === "delete" && gone.length > 0 ? go({ page: "experiments" }) : reload())}
          onClose={() => setAsks(undefined)}
        />
      )}
      {forks !== undefined && <ForkDialog experiment={experiment} trials={trials} kind={forks} onClose={() => setForks(undefined)} />}
    </>
  );
}
