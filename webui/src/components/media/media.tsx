import { useMemo, useState } from "react";
import { usePolled } from "../../api/loadable";
import { listMedia, type MediaTag } from "../../api/media";
import { useParameter } from "../address/route";
import { SearchField } from "../forms/search_field";
import { Loaded, Panel } from "../parts";
import { MediaFigure } from "./media_figure";
import { StepField } from "./step_field";
import { matching, type Shown, together, union } from "./tags";

const pollMs = 5000;
const shownAtFirst = 12;

interface MediaProps {
  readonly trialIds: readonly number[];
  readonly live: boolean;
  /** What says which trial is which, where there are several. */
  readonly colours?: ReadonlyMap<number, string>;
  /** Beside other things: without any media nothing is shown. */
  readonly beside?: boolean;
}

/** Images, histograms, text and audio that some trials wrote into their TensorBoard files, at the step in the address. */
export function Media({ trialIds, live, colours, beside = false }: MediaProps) {
  const [loaded] = usePolled(
    `media ${trialIds.join()}`,
    (signal) => Promise.all(trialIds.map(async (id): Promise<readonly [number, readonly MediaTag[]]> => [id, await listMedia(id, signal)])),
    pollMs,
    () => live,
    { topics: trialIds.map((id) => `trial ${id}` as const), leastMs: 1000 },
  );
  if (beside && (loaded.status !== "loaded" || loaded.value.every(([, tags]) => tags.length === 0))) return null;
  return (
    <Loaded of={loaded} what="media">
      {(found) => <Tags found={found} live={live} colours={colours} />}
    </Loaded>
  );
}

function Tags({ found, live, colours }: { found: readonly (readonly [number, readonly MediaTag[]])[]; live: boolean; colours: MediaProps["colours"] }) {
  const [words, setWords] = useParameter("media");
  const [step, setStep] = useParameter("step");
  const [all, setAll] = useState(false);
  const tags = useMemo(() => together(found), [found]);
  const steps = useMemo(() => tags.reduce<readonly number[]>((sum, one) => union(sum, one.steps), []), [tags]);
  if (tags.length === 0) return <NoMedia live={live} />;
  const wanted = step === "" ? undefined : Number(step);
  const matched = matching(tags, words);
  return (
    <Panel
      title="Media"
      tools={
        <>
          <StepField steps={steps} step={wanted} onStep={(to) => setStep(to === undefined ? "" : String(to))} />
          <SearchField text={words} onSearch={setWords} placeholder="Find tags" label="Find tags" />
        </>
      }
    >
      {matched.length === 0 && <p className="quiet">No tag contains “{words}”.</p>}
      <div className="charts">
        {(all ? matched : matched.slice(0, shownAtFirst)).map((tag: Shown) => (
          <MediaFigure key={`${tag.kind} ${tag.tag}`} tag={tag} step={wanted} colours={colours} />
        ))}
      </div>
      {!all && matched.length > shownAtFirst && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {matched.length} tags
        </button>
      )}
    </Panel>
  );
}

function NoMedia({ live }: { live: boolean }) {
  return (
    <p className="quiet">
      {live ? "No media yet." : "This trial wrote no media."} To see images, histograms, text, or audio here, write them with <code>SummaryWriter</code> from <code>torch.utils.tensorboard</code>, with <code>tf.summary</code>, or with <code>determined.track</code>.
    </p>
  );
}
