import { useRights } from "../../components/people/me";
import { Policies } from "../../components/forms/policies";

/** What is fixed and limited in configurations everywhere. */
export function ClusterPolicies() {
  const { may } = useRights();
  const changes = may("MODIFY_GLOBAL_CONFIG_POLICIES");
  return (
    <>
      <p className="quiet">
        Policies set and limit configuration values for all users. Workspaces can have policies of their own.
        {!changes && " Only administrators can change these policies."}
      </p>
      <Policies at={{}} where="in the cluster" changes={changes} />
    </>
  );
}
