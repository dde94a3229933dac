import { useRef } from "react";
import { usePolled } from "../../api/loadable";
import { getMedia, type MediaFile, type MediaValue } from "../../api/media";
import { Link } from "../address/route";
import { Dot } from "../charts/dot";
import { Prose } from "../markdown/prose";
import { Loaded } from "../parts";
import { HistogramPlot } from "./histogram_plot";
import { placeOf, type Shown } from "./tags";

/** What a heat map shows of many histograms. */
const histogramsMax = 100;

interface MediaFigureProps {
  readonly tag: Shown;
  /** Undefined: the newest. */
  readonly step: number | undefined;
  readonly colours: ReadonlyMap<number, string> | undefined;
}

/** What the trials wrote under one tag, at a step or before it. */
export function MediaFigure({ tag, step, colours }: MediaFigureProps) {
  const at = tag.steps[placeOf(tag.steps, step)] ?? 0;
  return (
    <figure className={`chart media ${tag.kind}`}>
      <figcaption>
        <span title={tag.tag}>{tag.tag}</span>
        <span className="nearest quiet">step {at}</span>
      </figcaption>
      <div className="row">
        {tag.trials.map((id) => (
          <div key={id} className="one">
            {colours !== undefined && (
              <div>
                <Dot colour={colours.get(id)} /> <Link to={{ page: "trial", id, tab: "media" }} query={{ step: String(at) }}>{`Trial ${id}`}</Link>
              </div>
            )}
            <OfTrial id={id} tag={tag} at={at} />
          </div>
        ))}
      </div>
    </figure>
  );
}

function OfTrial({ id, tag, at }: { id: number; tag: Shown; at: number }) {
  const limit = tag.kind === "histogram" ? histogramsMax : 1;
  const [loaded] = usePolled(
    `media ${id} ${tag.kind} ${tag.tag} ${at}`,
    (signal) => getMedia(id, tag, at, limit, signal),
    0,
    () => false,
  );
  // What was shown before stays until the next is there: a slider would make everything flicker.
  const last = useRef(loaded);
  if (loaded.status !== "loading") last.current = loaded;
  return (
    <Loaded of={last.current} what="media">
      {(values) => <Value values={values} name={`${tag.tag} of trial ${id}`} tag={tag} />}
    </Loaded>
  );
}

function Value({ values, name, tag }: { values: readonly MediaValue[]; name: string; tag: Shown }) {
  const value = values.at(-1);
  if (value === undefined) return null;
  const what = `${name} at step ${value.step}`;
  switch (tag.kind) {
    case "image":
      return value.files.map((file, at) => <Image key={at} file={file} what={value.files.length > 1 ? `${what}, ${at + 1} of ${value.files.length}` : what} />);
    case "audio":
      return value.files.map((file, at) => <audio key={at} controls aria-label={what} src={addressOf(file)} />);
    case "text":
      return value.texts.map((text, at) => <Prose key={at} text={text} />);
    case "histogram":
      return <HistogramPlot values={values} name={name} />;
  }
}

const addressOf = ({ mediaType, data }: MediaFile) => `data:${mediaType};base64,${data}`;

/** Smaller ones are shown larger than they are, pixel by pixel. */
const smallPixels = 128;

function Image({ file, what }: { file: MediaFile; what: string }) {
  if (file.mediaType === "") return <p className="quiet">An image of a format that browsers do not show.</p>;
  return <img src={addressOf(file)} alt={what} title={what} onLoad={({ currentTarget: image }) => image.classList.toggle("small", image.naturalWidth < smallPixels)} />;
}
