import { useRights } from "../../components/people/me";
import { Policies } from "../../components/forms/policies";

/** What is fixed and limited in configurations everywhere. */
export function ClusterPolicies() {
  const { may } = useRights();
  const changes = may("MODIFY_GLOBAL_CONFIG_POLICIES");
  return (
    <>
      <p className="quiet">
        What administrators decide about everybody’s configurations. Workspaces may have policies of their own.
        {!changes && " These are changed by administrators."}
      </p>
      <Policies at={{}} where="in the cluster" changes={changes} />
    </>
  );
}
