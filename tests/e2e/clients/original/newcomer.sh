#!/bin/bash
# What somebody who knows release 0.38.1 tries first: only its own `det`, SDK, ssh and curl.
# Needs DET_MASTER, DET_USER and DET_PASS, and a model definition in ./model.
set -euo pipefail

experiment=$(det experiment create model/const.yaml model --config name=first | sed -n 's/^Created experiment //p')
det experiment wait "$experiment" --polling-interval 1

python - "$experiment" <<'END'
import sys
from determined.experimental import client

experiment = client.get_experiment(int(sys.argv[1]))
(best,) = experiment.list_checkpoints(max_results=1, sort_by="validation_loss", order_by=client.OrderBy.ASC)
version = client.create_model("first-model").register_version(best.uuid)
assert client.get_model("first-model").get_version(version.model_version).checkpoint.uuid == best.uuid
path = client.get_checkpoint(best.uuid).download("best")
print("registered version", version.model_version, "of", path)
END
test -f best/state-dict.pth
det model list-versions first-model

# What the web server of a task answers to its owner.
token=$(det dev auth-token)
opened() {
  curl --silent --show-error --fail --header "Authorization: Bearer $token" "$DET_MASTER/proxy/$1/$2"
}

notebook=$(det notebook start --detach --config resources.slots=0)
until det notebook list | grep "$notebook" | grep --quiet RUNNING; do sleep 1; done
until opened "$notebook" api; do sleep 1; done
det notebook kill "$notebook"

shell=$(det shell start --detach --config resources.slots=0)
until det shell list | grep "$shell" | grep --quiet RUNNING; do sleep 1; done
det shell open "$shell" -- hostname
command=$(det shell show-ssh-command "$shell" | grep '^ssh ')
options=${command#ssh }
host=${options##* }
options=${options% *}
eval "options=(${options//-tt/})" # scp has no terminal
date > sent
scp "${options[@]}" sent "$host:$PWD/there"
scp "${options[@]}" "$host:$PWD/there" back
cmp sent back
det shell kill "$shell"

tensorboard=$(det tensorboard start "$experiment" --detach)
until opened "$tensorboard" data/plugin/scalars/tags; do sleep 1; done
det tensorboard kill "$tensorboard"
echo "everything was there"
