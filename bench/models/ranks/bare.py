"""The loop a user would write for torchrun: the same model, data and metrics under DistributedDataParallel."""

import sys

import torch
import torch.distributed as dist
from common import Clock, build_model, dataset, losses


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    clock = Clock(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    model = torch.nn.parallel.DistributedDataParallel(build_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    data = dataset()
    sampler = torch.utils.data.DistributedSampler(data, shuffle=False)
    loader = torch.utils.data.DataLoader(data, batch_size=64 // dist.get_world_size(), sampler=sampler)
    index, total = 0, 0.0
    while index < clock.last + 10:
        for batch in loader:
            if dist.get_rank() == 0:
                clock.batch(index)
            found = losses(model, batch)
            found["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
            total += found["loss"].item()
            index += 1
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
