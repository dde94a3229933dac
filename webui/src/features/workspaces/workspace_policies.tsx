import type { Workspace } from "../../api/types";
import { useRights } from "../../components/people/me";
import { Policies } from "../../components/forms/policies";
import { Link } from "../../components/address/route";

/** What is fixed and limited in configurations of a workspace. */
export function WorkspacePolicies({ workspace }: { workspace: Workspace }) {
  const { id, name, userId } = workspace;
  const { may } = useRights();
  return (
    <>
      <p className="quiet">
        <Link to={{ page: "cluster", tab: "policies" }}>Policies of the cluster</Link> apply here too and take precedence.
      </p>
      <Policies at={{ workspace: id }} where={`in workspace ${name}`} changes={may("MODIFY_WORKSPACE_CONFIG_POLICIES", { workspace: id, owners: [userId] })} />
    </>
  );
}
