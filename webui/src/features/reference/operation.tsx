import { useEffect, useState } from "react";
import { CopyButton } from "../../components/forms/copy_button";
import { AnchorLink } from "./anchor_link";
import { curlOf, type Field, fieldsOf, type Operation, type Schema, type Schemas, typeOf } from "./document";

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
      <Fields title="Path parameters" fields={pathParameters} schemas={schemas} />
      <Fields title="Query parameters" fields={queryParameters} schemas={schemas} />
      <Body title="Request body" schema={body} schemas={schemas} />
      <Body title={streams ? "Reply: one JSON object per line" : "Reply"} schema={reply} schemas={schemas} />
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

function Body({ title, schema, schemas }: { title: string; schema: Schema | undefined; schemas: Schemas }) {
  if (schema === undefined) return null;
  const fields = fieldsOf(schema, schemas);
  if (fields.length > 0) return <Fields title={title} fields={fields} schemas={schemas} />;
  const type = typeOf(schema);
  return (
    <>
      <h3>{title}</h3>
      <p className="quiet">{type === "Empty" ? "An empty object." : type}</p>
    </>
  );
}

function Fields({ title, fields, schemas }: { title: string; fields: readonly Field[]; schemas: Schemas }) {
  if (fields.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <FieldList fields={fields} schemas={schemas} />
    </>
  );
}

/** Members with their types; an object inside one is shown when it is opened. */
function FieldList({ fields, schemas }: { fields: readonly Field[]; schemas: Schemas }) {
  return (
    <ul className="plain fields">
      {fields.map((field) => (
        <li key={field.name}>{field.inner === undefined ? <FieldHead field={field} /> : <Inner field={field} schemas={schemas} />}</li>
      ))}
    </ul>
  );
}

function FieldHead({ field: { name, type, required, description } }: { field: Field }) {
  return (
    <>
      <code>{name}</code> <span className="quiet">{type}</span>
      {required && <span className="label">required</span>}
      {description !== "" && <span> {description}</span>}
    </>
  );
}

function Inner({ field, schemas }: { field: Field; schemas: Schemas }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <FieldHead field={field} />
      </summary>
      {open && <FieldList fields={fieldsOf(field.inner, schemas)} schemas={schemas} />}
    </details>
  );
}
