"""Images, histograms, text and audio that trials write into their TensorBoard files, as the master shows them."""

import base64
import io
import json
import sys
import urllib.error
import urllib.parse

import numpy as np
import pytest
import yaml
from cluster import HERE, REPOSITORY, wait_until
from PIL import Image
from sklearn.datasets import load_digits

sys.path.insert(0, str(REPOSITORY / "python" / "tests"))
import object_servers


def tags(cluster, trial):
    listed = cluster.get(f"trials/{trial}/media")["tags"]
    return {(one["kind"], one["tag"]): [int(step) for step in one["steps"]] for one in listed}


def values(cluster, trial, **query):
    return cluster.get(f"trials/{trial}/media/values?{urllib.parse.urlencode(query)}")["values"]


def test_what_a_summary_writer_wrote_is_shown_by_tag_and_step(cluster):
    experiment = cluster.create(HERE / "models" / "pictures")
    cluster.wait_for_state(experiment, "COMPLETED")
    trial = cluster.trial_of(experiment)["id"]
    steps = [1, 2, 3, 4, 5]
    assert tags(cluster, trial) == {
        ("image", "digits/first"): steps,
        ("histogram", "weights"): steps,
        ("text", "notes/text_summary"): steps,
        ("audio", "tone"): [1],
    }
    digits = load_digits().images

    (image,) = values(cluster, trial, kind="image", tag="digits/first", step=3)
    assert (image["step"], image["files"][0]["mediaType"]) == ("3", "image/png")
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(image["files"][0]["data"]))).convert("L"))
    assert pixels == pytest.approx(digits[3] / 16 * 255, abs=1)

    histograms = values(cluster, trial, kind="histogram", tag="weights", limit=100)
    assert [one["step"] for one in histograms] == [str(step) for step in steps]
    for step, one in zip(steps, histograms, strict=True):
        edges, counts = one["histogram"]["edges"], one["histogram"]["counts"]
        assert sum(counts) == 64 * step
        assert len(edges) == len(counts) + 1 and edges == sorted(edges)
        assert (edges[0], edges[-1]) == (0, digits[:step].max() / 16)

    (note,) = values(cluster, trial, kind="text", tag="notes/text_summary", step=99)
    assert note["texts"][0].startswith("**step 5**")
    (sound,) = values(cluster, trial, kind="audio", tag="tone")
    assert base64.b64decode(sound["files"][0]["data"]).startswith(b"RIFF")

    ends = values(cluster, trial, kind="text", tag="notes/text_summary", limit=2)
    assert [one["step"] for one in ends] == ["1", "5"]
    for query, message in (
        ({"kind": "image", "tag": "nothing"}, "nothing of this kind under the tag 'nothing'"),
        ({"kind": "image", "tag": "digits/first", "limit": 0}, "limit is 0; it must be from 1 to 200"),
        ({"kind": "video", "tag": "digits/first"}, 'kind: is not one of the allowed names, not "video"'),
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            values(cluster, trial, **query)
        assert message in json.load(refused.value)["error"]["error"]

    cluster.get(f"experiments/{experiment}/tensorboard-files", "DELETE")
    assert tags(cluster, trial) == {}


def test_those_in_a_bucket_are_shown_until_somebody_deletes_them(cluster, tmp_path):
    with object_servers.s3() as section:
        config = yaml.safe_load((HERE / "models" / "pictures" / "const.yaml").read_text())
        (tmp_path / "s3.yaml").write_text(yaml.safe_dump(config | {"checkpoint_storage": section}))
        experiment = cluster.create(HERE / "models" / "pictures", config=tmp_path / "s3.yaml")
        cluster.wait_for_state(experiment, "COMPLETED")
        trial = cluster.trial_of(experiment)["id"]
        (image,) = values(cluster, trial, kind="image", tag="digits/first", step=3)
        assert image["step"] == "3"
        cluster.get(f"experiments/{experiment}/tensorboard-files", "DELETE")
        wait_until(lambda: tags(cluster, trial) == {}, "nothing left to show")
