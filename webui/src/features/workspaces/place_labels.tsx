import type { Deletable } from "../../api/types";

/** What is special about a workspace or a project: it is archived, it is being deleted with what it holds, or that failed. */
export function PlaceLabels({ place }: { readonly place: Deletable }) {
  return (
    <>
      {place.archived && <span className="label">archived</span>}
      {place.state === "WORKSPACE_STATE_DELETING" && (
        <span className="label" title="Deleted as soon as its last experiment is deleted">
          being deleted
        </span>
      )}
      {place.state === "WORKSPACE_STATE_DELETE_FAILED" && (
        <span className="label" title={place.errorMessage}>
          Deletion failed: {place.errorMessage}
        </span>
      )}
    </>
  );
}
