#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""What can be seen of a host's NPUs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: npu_info
short_description: Tell what can be seen of a host's Ascend NPUs
version_added: 0.1.0
description:
  - Tells the NPUs on PCI, the device nodes and who may open them, the versions of driver, firmware and CANN, and of each
    chip its ids, state, memory, processes and RoCE port.
  - Gives a verdict of its own on each question. Is the hardware present, is the driver loaded, can C(npu-smi) be used, are
    the chips healthy, may the calling user use them.
  - What is not known is null, never a guess.
  - Never fails because of what it saw, and changes nothing. Each tool is run once for each question that it is needed for,
    within O(timeout), and a tool that hangs is not asked again.
author:
  - The kvcache.ascend authors (@kvcache-ascend)
extends_documentation_fragment:
  - kvcache.ascend.attributes
  - kvcache.ascend.npu
"""

EXAMPLES = r"""
- name: Look at the NPUs
  kvcache.ascend.npu_info:
  become: true
  register: result

- name: Show which chips are not well
  ansible.builtin.debug:
    msg: "{{ result.npu.verdicts.healthy.reason }}"

- name: Look without root, as a service would, and ask its PyTorch
  kvcache.ascend.npu_info:
    visible_devices: "0,1"
    links: false
    python: /opt/kvcache/stack/current/bin/python
    python_set_env: /usr/local/Ascend/ascend-toolkit/set_env.sh
"""

RETURN = r"""
npu:
  description: What was seen.
  returned: always
  type: dict
  contains:
    hardware:
      description: NPUs on PCI, seen without a driver.
      type: list
      elements: dict
      contains:
        bus_id:
          description: PCI address.
          type: str
          sample: "0000:C1:00.0"
        device_id:
          description: PCI device id, hexadecimal.
          type: str
          sample: d802
        subsystem_device_id:
          description: PCI subsystem device id, hexadecimal; null when it can't be read.
          type: str
          sample: "0100"
        series:
          description: V(310), V(310B), V(310P), V(910), V(A2), V(A3) or V(950); null for a device id that is not known.
          type: str
          sample: A2
    device_nodes:
      description: Nodes of the NPU driver in C(/dev), chips first.
      type: list
      elements: dict
      contains:
        path:
          description: Path.
          type: str
          sample: /dev/davinci0
        kind:
          description: V(chip), V(virtual) (a part of a chip), or V(manager).
          type: str
          sample: chip
        number:
          description: For a chip its physical id; null for a manager.
          type: int
          sample: 0
        owner:
          description: Name of the owner, or its number where it has no name.
          type: str
          sample: HwHiAiUser
        group:
          description: Name of the group, or its number.
          type: str
          sample: HwHiAiUser
        mode:
          description: Permissions, octal.
          type: str
          sample: "0660"
        accessible:
          description:
            - Whether the calling user may read and write it, by owner, mode and capabilities.
            - The node is not opened, since that would take the chip. What a container's device rules forbid is not seen.
          type: bool
          sample: true
    driver:
      description: The NPU driver (HDK).
      type: dict
      contains:
        running:
          description: Version of the running driver, as C(npu-smi) prints it; null when that failed.
          type: str
          sample: 25.5.0
        installed:
          description: Version on disk. After an upgrade without a reboot it differs from the running one.
          type: str
          sample: 25.5.0
        path:
          description: Folder of the driver; null when there is none.
          type: str
          sample: /usr/local/Ascend/driver
        compatible_firmware:
          description: Range of firmware versions that the driver on disk names, or a list of ranges.
          type: list
          elements: raw
          sample: [7.0.0, 7.1.99]
    firmware:
      description: The firmware package on disk, which is not always the one in the cards.
      type: dict
      contains:
        installed:
          description: Version.
          type: str
          sample: 7.1.0.11.220
        package_version:
          description: Version of the package, where it is named.
          type: str
          sample: 23.0.7
    cann:
      description: CANN packages.
      type: dict
      contains:
        installed:
          description: All that were found below O(cann_roots), in the driver's folder and in the environment.
          type: list
          elements: dict
          contains:
            package:
              description: V(toolkit), V(nnae) or V(nnrt).
              type: str
              sample: toolkit
            version:
              description: Version.
              type: str
              sample: 8.3.RC2
            path:
              description: Its folder, links resolved.
              type: str
              sample: /usr/local/Ascend/ascend-toolkit/8.3.RC2
            set_env:
              description: Its C(set_env.sh); null when there is none.
              type: str
              sample: /usr/local/Ascend/ascend-toolkit/set_env.sh
            active:
              description: Whether it is the active one.
              type: bool
              sample: true
        active:
          description:
            - The toolkit that the environment names, or else the link C(cann), or else C(ascend-toolkit/latest).
            - Null when none of them does.
          type: dict
          contains:
            version:
              description: Version.
              type: str
              sample: 8.3.RC2
            path:
              description: Its folder, links resolved.
              type: str
              sample: /usr/local/Ascend/ascend-toolkit/8.3.RC2
            set_env:
              description: Its C(set_env.sh).
              type: str
              sample: /usr/local/Ascend/ascend-toolkit/set_env.sh
            by:
              description: The variable or the link that names it.
              type: str
              sample: /usr/local/Ascend/ascend-toolkit/latest
    chips:
      description:
        - The chips that C(npu-smi) shows; empty when it can't be used.
        - RV(npu.chips[].npu_id) and RV(npu.chips[].chip_id) together name one.
      type: list
      elements: dict
      contains:
        npu_id:
          description: Number of the card, as C(npu-smi -i) takes it. No index; gaps and large numbers are normal.
          type: int
          sample: 0
        chip_id:
          description: Number of the chip on its card; null where the table has none (950).
          type: int
          sample: 0
        logic_id:
          description: Number that C(ASCEND_RT_VISIBLE_DEVICES) takes.
          type: int
          sample: 0
        phy_id:
          description: Physical id, the number of the device node and of C(hccn_tool -i).
          type: int
          sample: 0
        phy_id_from:
          description:
            - V(npu-smi) when it is printed. V(logic_id), V(npu_id) or V(device_id) when that id numbers just the device
              nodes that are there.
          type: str
          sample: logic_id
        device_id:
          description: The column C(Device) of older tables.
          type: int
          sample: null
        node:
          description: Its device node.
          type: str
          sample: /dev/davinci0
        name:
          description: Its name, as printed.
          type: str
          sample: 910B2
        health:
          description: V(OK), V(Warning), V(Alarm), V(Critical) or V(UNKNOWN).
          type: str
          sample: OK
        error_codes:
          description: Codes of the active alarms, asked for chips that are not V(OK).
          type: list
          elements: str
          sample: []
        error_information:
          description: The alarms in words.
          type: list
          elements: str
          sample: []
        bus_id:
          description: PCI address.
          type: str
          sample: "0000:C1:00.0"
        power_w:
          description: Power, in watts. On A3 the figure of the first chip is that of the whole card.
          type: float
          sample: 90.1
        temp_c:
          description: Temperature, in degrees Celsius.
          type: int
          sample: 38
        aicore_pct:
          description: Use of the AI cores, in per cent.
          type: int
          sample: 0
        hugepages:
          description: Pages C(used) and C(total) of the card.
          type: dict
          contains:
            used:
              description: Pages in use.
              type: int
              sample: 0
            total:
              description: All pages.
              type: int
              sample: 0
        memory_kind:
          description: V(hbm), or V(ddr) for chips without HBM.
          type: str
          sample: hbm
        memory_used_mb:
          description: Memory in use, in MB. Some GB on an idle chip are normal.
          type: int
          sample: 3400
        memory_total_mb:
          description: Memory, in MB.
          type: int
          sample: 65536
        memory_free_mb:
          description: Free memory, in MB.
          type: int
          sample: 62136
    processes:
      description: Processes on the chips; null when they are not known (older tables have no list of them).
      type: list
      elements: dict
      contains:
        npu_id:
          description: Card.
          type: int
          sample: 0
        chip_id:
          description: Chip on the card.
          type: int
          sample: 0
        pid:
          description: Process id on the host, also inside a container.
          type: int
          sample: 4711
        name:
          description: Name, at most 15 characters; empty where the process is hidden.
          type: str
          sample: VLLMWorker_TP
        memory_mb:
          description: Memory on the chip, in MB.
          type: int
          sample: 33154
        unit:
          description: The systemd service that it belongs to; null when to none, or when it is hidden.
          type: str
          sample: vllm@a.service
    links:
      description: RoCE port of each chip, in the order of RV(npu.chips); null with O(links=false) or without chips.
      type: list
      elements: dict
      contains:
        device:
          description: Physical id of the chip.
          type: int
          sample: 0
        applies:
          description: Whether such a chip has a port; null when that is not known.
          type: bool
          sample: true
        address:
          description: IPv4 address; null when none is set, or it is not known.
          type: str
          sample: 198.51.100.36
        netmask:
          description: Netmask.
          type: str
          sample: 255.255.255.0
        state:
          description: V(UP) or V(DOWN); null when it is not known.
          type: str
          sample: UP
        net_health:
          description: Result of the network check, as printed.
          type: str
          sample: Success
        net_healthy:
          description: Whether that means healthy.
          type: bool
          sample: true
        configured_address:
          description: Address in C(/etc/hccn.conf).
          type: str
          sample: 198.51.100.36
        agrees_with_conf:
          description: Whether both addresses are the same; null when the port could not be asked.
          type: bool
          sample: true
        problem:
          description: Why it could not be asked; null when it was, and when there is no port.
          type: str
          sample: null
    visible_devices:
      description: What a value of C(ASCEND_RT_VISIBLE_DEVICES) leaves visible.
      type: dict
      contains:
        value:
          description: O(visible_devices), or else the variable in the environment of the module; null when neither is set.
          type: str
          sample: "0,1"
        effective:
          description: Logic ids that are visible, in order; null when the number of chips is not known and no value is set.
          type: list
          elements: int
          sample: [0, 1]
        dropped:
          description: Items without effect. CANN stops at the first bad one without a word.
          type: list
          elements: str
          sample: []
        ascending:
          description: Whether the ids ascend, as CANN wants them.
          type: bool
          sample: true
    torch:
      description: What PyTorch sees; null without O(python).
      type: dict
      contains:
        torch:
          description: Version of torch; null when it can't be imported.
          type: str
          sample: 2.9.0
        torch_npu:
          description: Version of torch_npu; null when it can't be imported.
          type: str
          sample: 2.9.0
        device_count:
          description: Number of devices that C(torch.npu.device_count()) gives.
          type: int
          sample: 8
        error:
          description: What went wrong; null when nothing did.
          type: str
          sample: null
    verdicts:
      description: An answer to each question, with its reason, and with a fix unless all is well.
      type: dict
      contains:
        hardware_present:
          description: Whether there is an NPU on PCI. Null in a container that has device nodes and sees no PCI.
          type: dict
          contains:
            ok:
              description: The answer; null when it can't be told.
              type: bool
              sample: true
            reason:
              description: Why.
              type: str
              sample: 8 NPUs of series A2 on PCI
            fix:
              description: What to do; null when all is well.
              type: str
              sample: null
        driver_loaded:
          description: Whether the driver has made its device nodes.
          type: dict
          contains:
            ok:
              description: The answer.
              type: bool
              sample: true
            reason:
              description: Why.
              type: str
              sample: 8 device nodes and /dev/davinci_manager are there
            fix:
              description: What to do; null when all is well.
              type: str
              sample: null
        tool_usable:
          description: Whether C(npu-smi) answers.
          type: dict
          contains:
            ok:
              description: The answer.
              type: bool
              sample: true
            reason:
              description: Why.
              type: str
              sample: npu-smi 25.5.0 answers
            fix:
              description: What to do; null when all is well.
              type: str
              sample: null
        healthy:
          description: Whether no chip has an alarm. A warning is no alarm.
          type: dict
          contains:
            ok:
              description: The answer; null when no chip was read.
              type: bool
              sample: true
            reason:
              description: Why.
              type: str
              sample: all 8 chips are OK
            fix:
              description: What to do; null when all is well.
              type: str
              sample: null
            worst:
              description: The worst state of all chips; null when no chip was read.
              type: str
              sample: OK
        visible:
          description:
            - Whether the calling user may open all nodes, and the value of C(ASCEND_RT_VISIBLE_DEVICES) has no bad item.
          type: dict
          contains:
            ok:
              description: The answer; null without device nodes.
              type: bool
              sample: true
            reason:
              description: Why.
              type: str
              sample: root may open all device nodes
            fix:
              description: What to do; null when all is well.
              type: str
              sample: null
    commands:
      description: What was run, in order.
      type: list
      elements: dict
      contains:
        command:
          description: The command.
          type: str
          sample: npu-smi info
        status:
          description: Its exit status; null when it was not started or did not end.
          type: int
          sample: 0
        seconds:
          description: Seconds that it took.
          type: float
          sample: 0.2
        problem:
          description: Why it has no status.
          type: str
          sample: null
    unparsed:
      description: Lines of C(npu-smi info) that could not be read, as they are.
      type: list
      elements: str
      sample: []
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kvcache.ascend.plugins.module_utils import (
    limited_command,
    npu_arguments,
    npu_observation,
    proc_services,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.npu_files import Files


def main() -> None:
    module = AnsibleModule(argument_spec=npu_arguments.LOOK, supports_check_mode=True)
    mistakes = npu_arguments.mistakes(module.params)
    if mistakes:
        module.fail_json(msg="\n".join(mistakes))
    seen = npu_observation.observe(
        npu_arguments.options(module.params),
        Files(),
        limited_command.run,
        dict(os.environ),
        is_root=os.geteuid() == 0,
        unit_of=proc_services.unit_of_process,
    )
    module.exit_json(changed=False, npu=seen)


if __name__ == "__main__":
    main()
