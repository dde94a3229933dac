import { useEffect, useState } from "react";
import { CopyButton } from "../../components/forms/copy_button";
import { AnchorLink } from "./anchor_link";
import { curlOf, type Field, fieldsOf, type Operation, type Schema, type Schemas, typeOf } from "./document";

/** Of a request one says what must be there, of a reply what may be missing. */
type Side = "request" | "reply";

interface OperationProps {
  readonly operation: Operation;
  readonly schemas: Schemas;
  /** The address names it: it is open. */
  readonly target: boolean;
}

/** One operation: a line, and everything about it when it is opened. */
export function OperationDetails({ operation, schemas, target }: OperationProps) {
  const [open, setOpen] = useState(target);
  useEffect(() => {
    if (target) setOpen(true);
  }, [target]);
  const { id, method, path, summary } = operation;
  return (
    <details id={id} className="operation" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className={`method ${method.toLowerCase()}`}>{method}</span>
        <code>{path}</code>
        <span className="quiet">
          {summary.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
        </span>
      </summary>
      {open && <Everything operation={operation} schemas={schemas} />}
    </details>
  );
}

function Everything({ operation, schemas }: Omit<OperationProps, "target">) {
  const { id, pathParameters, queryParameters, body, reply, streams, errors, needsLogin } = operation;
  const curl = curlOf(operation, location.origin, schemas);
  return (
    <div className="operation-body">
      <p className="quiet">
        <AnchorLink to={id}>Link to this operation</AnchorLink>
        {needsLogin ? "" : " · No login needed"}
      </p>
      <Fields title="Path parameters" side="request" fields={pathParameters} schemas={schemas} />
      <Fields title="Query parameters" side="request" fields={queryParameters} schemas={schemas} />
      <Body title="Request body" side="request" schema={body} schemas={schemas} />
      <Body title={streams ? "Reply: one JSON object per line" : "Reply"} side="reply" schema={reply} schemas={schemas} />
      <h3>Errors</h3>
      <ul className="plain errors">
        {errors.map(({ status, reason }) => (
          <li key={status}>
            <code>{status}</code> {reason}
          </li>
        ))}
      </ul>
      <h3>Example</h3>
      <pre className="code">{curl}</pre>
      <CopyButton text={curl} />
    </div>
  );
}

function Body({ title, side, schema, schemas }: { title: string; side: Side; schema: Schema | undefined; schemas: Schemas }) {
  if (schema === undefined) return null;
  const fields = fieldsOf(schema, schemas);
  if (fields.length > 0) return <Fields title={title} side={side} fields={fields} schemas={schemas} />;
  const type = typeOf(schema);
  return (
    <>
      <h3>{title}</h3>
      <p className="quiet">{type === "Empty" ? "An empty object." : type}</p>
    </>
  );
}

function Fields({ title, side, fields, schemas }: { title: string; side: Side; fields: readonly Field[]; schemas: Schemas }) {
  if (fields.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <FieldList side={side} fields={fields} schemas={schemas} />
    </>
  );
}

/** Members with their types; an object inside one is shown when it is opened. */
function FieldList({ side, fields, schemas }: { side: Side; fields: readonly Field[]; schemas: Schemas }) {
  return (
    <ul className="plain fields">
      {fields.map((field) => (
        <li key={field.name}>{field.inner === undefined ? <FieldHead side={side} field={field} /> : <Inner side={side} field={field} schemas={schemas} />}</li>
      ))}
    </ul>
  );
}

function FieldHead({ side, field: { name, type, required, description } }: { side: Side; field: Field }) {
  return (
    <>
      <code>{name}</code> <span className="quiet">{type}</span>
      {side === "request" && required && <span className="label">required</span>}
      {side === "reply" && !required && <span className="label">optional</span>}
      {description !== "" && <span>{description}</span>}
    </>
  );
}

function Inner({ side, field, schemas }: { side: Side; field: Field; schemas: Schemas }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <FieldHead side={side} field={field} />
      </summary>
      {open && <FieldList side={side} fields={fieldsOf(field.inner, schemas)} schemas={schemas} />}
    </details>
  );
}
