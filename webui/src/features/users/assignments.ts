/** Who has which role where, as the API says it of groups. Pure. */

import type { Permissions } from "../../api/types";
import type { Assignment, Holder } from "../../components/people/roles";

/** An entry for each place in which a role holds, those for the whole cluster first. */
export function assignmentsOf(holder: Holder, { roles, assignments }: Permissions): Assignment[] {
  const all = assignments.flatMap(({ roleId, scopeCluster, scopeWorkspaceIds }): Assignment[] => {
    const role = roles.find((one) => one.roleId === roleId) ?? { roleId, name: `role ${roleId}` };
    const everywhere = scopeCluster ? [{ holder, role, workspace: undefined }] : [];
    return [...everywhere, ...scopeWorkspaceIds.map((workspace) => ({ holder, role, workspace }))];
  });
  return all.sort((a, b) => Number(a.workspace !== undefined) - Number(b.workspace !== undefined));
}
