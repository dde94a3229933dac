import { usePolled } from "../../../api/loadable";
import { formatBytes } from "../../../components/format";
import { Loaded } from "../../../components/parts";
import { useParameter } from "../../../components/address/route";
import { languageOf } from "../../../components/code/languages";
import { NumberedText } from "../../../components/forms/text";
import { downloadArchive, modelDefinition } from "../../../components/code/model_definition";
import { asText, type TarEntry, tree, type TreeNode } from "../../../components/code/tar";

/** The files as they were submitted: a tree and the text of one of them. */
export function Code({ id }: { id: number }) {
  const [files] = usePolled(`code ${id}`, (signal) => modelDefinition(id, signal), 0, () => false);
  return (
    <Loaded of={files} what="the submitted files">
      {(entries) => {
        const regular = entries.filter(({ type }) => type === 48);
        return regular.length === 0 ? <p className="quiet">No files were submitted.</p> : <Files entries={regular} id={id} />;
      }}
    </Loaded>
  );
}

function Files({ entries, id }: { entries: readonly TarEntry[]; id: number }) {
  const [wanted, setWanted] = useParameter("file");
  const file = entries.find(({ path }) => path === wanted) ?? entries.find(({ path }) => /\.py$/.test(path)) ?? entries[0];
  return (
    <div className="files">
      <nav aria-label="Submitted files">
        <Nodes nodes={tree(entries.map(({ path }) => path))} current={file?.path ?? ""} onOpen={setWanted} />
        <p>
          <button type="button" className="text" onClick={() => void downloadArchive(id)}>
            Download all
          </button>
        </p>
      </nav>
      {file !== undefined && <FileText file={file} />}
    </div>
  );
}

interface NodesProps {
  readonly nodes: readonly TreeNode[];
  readonly current: string;
  readonly onOpen: (path: string) => void;
}

function Nodes({ nodes, current, onOpen }: NodesProps) {
  return (
    <ul>
      {nodes.map(({ name, path, children }) => (
        <li key={path}>
          {children === undefined ? (
            <button type="button" aria-current={path === current ? "true" : undefined} onClick={() => onOpen(path)}>
              {name}
            </button>
          ) : (
            <details open>
              <summary>{name}/</summary>
              <Nodes nodes={children} current={current} onOpen={onOpen} />
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

const shownBytesMax = 1_000_000;

function FileText({ file: { path, content } }: { file: TarEntry }) {
  const text = content.length <= shownBytesMax ? asText(content) : undefined;
  return (
    <section aria-label={path}>
      <p className="quiet">
        {path} · {formatBytes(content.length)}
      </p>
      {text === undefined ? <p className="quiet">This file is binary or too large to show. Download it to view it.</p> : <NumberedText text={text} language={languageOf(path)} />}
    </section>
  );
}
