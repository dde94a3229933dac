import { usePolled } from "../../api/loadable";
import { CheckpointTable } from "../../components/tables/checkpoint_table";
import { Loaded } from "../../components/parts";
import { checkpointsMax, listCheckpoints } from "./api";

export function Checkpoints({ id, live }: { id: number; live: boolean }) {
  const [list] = usePolled(`checkpoints ${id}`, (signal) => listCheckpoints(id, signal), 5000, () => live, { topics: [`experiment ${id}`], leastMs: 2000 });
  return (
    <Loaded of={list} what="checkpoints">
      {(checkpoints) => (
        <>
          {checkpoints.length === checkpointsMax && <p className="quiet">Showing the first {checkpointsMax} checkpoints.</p>}
          <CheckpointTable checkpoints={checkpoints} withTrial />
        </>
      )}
    </Loaded>
  );
}
