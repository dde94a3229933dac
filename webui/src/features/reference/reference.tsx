import { useEffect, useMemo } from "react";
import { getText } from "../../api/client";
import { usePolled } from "../../api/loadable";
import { useParameter } from "../../components/address/route";
import { SearchField } from "../../components/forms/search_field";
import { count } from "../../components/format";
import { Loaded, PageHead } from "../../components/parts";
import { AnchorLink } from "./anchor_link";
import { useAnchor } from "./anchor";
import { type ApiDocument, byTag, found, operationsOf, type Schemas } from "./document";
import { OperationDetails } from "./operation";

const address = "/api/v1/api.swagger.json";

/** The reference of the REST API, from the document that this master serves. */
export function ReferencePage() {
  const [loaded] = usePolled("reference", async (signal) => JSON.parse(await getText(address, signal)) as ApiDocument, 0, () => false);
  return (
    <>
      <PageHead
        title="API reference"
        actions={
          <a href={address} download="openapi.json">
            Download OpenAPI document
          </a>
        }
      >
        {loaded.status === "loaded" && <span className="quiet">version {loaded.value.info.version}</span>}
      </PageHead>
      <p className="quiet">
        Everything in these pages and in the command line uses this REST API. Requests and replies are JSON. A program logs in with an access token; create
        one in the settings and set it as <code>DET_TOKEN</code>. Clients can be generated from the OpenAPI document.
      </p>
      <Loaded of={loaded} what="the API document">
        {(document) => <Operations document={document} />}
      </Loaded>
    </>
  );
}

function Operations({ document }: { document: ApiDocument }) {
  const [search, setSearch] = useParameter("search");
  const all = useMemo(() => operationsOf(document), [document]);
  const shown = found(all, search);
  const groups = [...byTag(shown)];
  return (
    <>
      <search className="row filters">
        <SearchField text={search} onSearch={setSearch} placeholder="Path, method or description: kill experiment" label="Search operations" />
        <span className="quiet" role="status">
          {count(shown.length, "operation")}
        </span>
      </search>
      {shown.length === 0 && <p className="quiet">No operation matches “{search}”. Try a single word, such as “trial”.</p>}
      {groups.length > 1 && (
        <nav className="legend" aria-label="Groups of operations">
          {groups.map(([tag]) => (
            <AnchorLink key={tag} to={tag}>
              {tag}
            </AnchorLink>
          ))}
        </nav>
      )}
      <Groups groups={groups} schemas={document.components.schemas} />
    </>
  );
}

function Groups({ groups, schemas }: { groups: readonly (readonly [string, ReturnType<typeof found>])[]; schemas: Schemas }) {
  const target = useAnchor();
  useEffect(() => {
    if (target !== "") window.document.getElementById(target)?.scrollIntoView();
  }, [target]);
  return groups.map(([tag, operations]) => (
    <section key={tag} id={tag} className="panel operations" aria-label={tag}>
      <h2>{tag}</h2>
      {operations.map((operation) => (
        <OperationDetails key={operation.id} operation={operation} schemas={schemas} target={operation.id === target} />
      ))}
    </section>
  ));
}

