"""Discovery by a Kubernetes API: the labels that Prometheus documents, whoever asks, and what comes and goes. GOODPUT_TARGETS is targets_dump."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import side_by_side  # noqa: E402
from servers.kubernetes import Cluster  # noqa: E402

TOOL = os.path.abspath(os.environ.get("GOODPUT_TARGETS", "build/tests/tools/targets_dump"))
META = "__meta_kubernetes_"
HIDDEN = ("__scrape_interval__", "__scrape_timeout__", "__metrics_path__", "__scheme__", "job")


class Kubernetes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def cluster(self, **options):
        cluster = Cluster(**options)
        self.addCleanup(cluster.close)
        return cluster

    def job(self, sd, **more):
        """The job's dump."""
        path = os.path.join(self.folder.name, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"scrape_configs": [dict({"job_name": "k", "kubernetes_sd_configs": [sd]}, **more)]}, f)
        run = subprocess.run([TOOL, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=30)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)[0]

    def found(self, sd):
        """{address: labels before relabelling without the usual and the prefix}."""
        out = {}
        for t in self.job(sd)["targets"]:
            labels = {k.replace(META, ""): v for k, v in t["before"].items() if k not in HIDDEN}
            out[labels.pop("__address__")] = labels
        return out

    def test_pods(self):
        cluster = self.cluster()
        found = self.found({"role": "pod", "api_server": cluster.url})
        self.assertEqual(sorted(found), ["10.1.0.1", "10.1.0.1:8000", "10.1.0.1:9400", "10.1.0.2", "10.1.0.2:8000", "10.1.0.9", "[fd00::7]:7000",
            "[fd00::7]:8000", "fd00::7"])  # no vllm-2: it has no address yet
        self.assertEqual(found["10.1.0.1:9400"], {
            "namespace": "llm", "pod_name": "vllm-0", "pod_ip": "10.1.0.1", "pod_ready": "true", "pod_phase": "Running", "pod_node_name": "gpu-1",
            "pod_host_ip": "192.168.0.1", "pod_uid": "uid-vllm-0", "pod_controller_kind": "ReplicaSet", "pod_controller_name": "vllm-abc",
            "pod_label_app": "vllm", "pod_labelpresent_app": "true", "pod_label_app_kubernetes_io_part_of": "llm",
            "pod_labelpresent_app_kubernetes_io_part_of": "true", "pod_annotation_prometheus_io_scrape": "true",
            "pod_annotationpresent_prometheus_io_scrape": "true", "pod_annotation_prometheus_io_port": "8000",
            "pod_annotationpresent_prometheus_io_port": "true", "pod_container_name": "server", "pod_container_image": "vllm/vllm-openai:v0.11.0",
            "pod_container_id": "containerd://vllm-0", "pod_container_init": "false", "pod_container_port_name": "metrics",
            "pod_container_port_number": "9400", "pod_container_port_protocol": "TCP"})
        self.assertEqual(found["10.1.0.1"]["pod_container_name"], "sidecar")
        self.assertNotIn("pod_container_port_number", found["10.1.0.1"])
        self.assertEqual(found["10.1.0.2:8000"]["pod_ready"], "false")
        self.assertEqual(found["[fd00::7]:7000"]["pod_container_init"], "true")
        self.assertNotIn("pod_controller_kind", found["10.1.0.9"])

    def test_nodes(self):
        cluster = self.cluster()
        found = self.found({"role": "node", "api_server": cluster.url})
        self.assertEqual(sorted(found), ["192.168.0.1:10250", "gpu-2.local:10250"])
        self.assertEqual(found["192.168.0.1:10250"], {
            "instance": "gpu-1", "node_name": "gpu-1", "node_provider_id": "aws:///eu/i-1", "node_label_zone": "a", "node_labelpresent_zone": "true",
            "node_label_nvidia_com_gpu_product": "H100", "node_labelpresent_nvidia_com_gpu_product": "true", "node_annotation_x_y_z": "1",
            "node_annotationpresent_x_y_z": "true", "node_address_Hostname": "gpu-1.local", "node_address_InternalIP": "192.168.0.1",
            "node_address_ExternalIP": "1.2.3.4"})

    def test_services(self):
        cluster = self.cluster()
        found = self.found({"role": "service", "api_server": cluster.url})
        self.assertEqual(sorted(found), ["balanced.other.svc:81", "balanced.other.svc:82", "outside.other.svc:443", "vllm.llm.svc:80"])
        self.assertEqual(found["vllm.llm.svc:80"], {
            "namespace": "llm", "service_name": "vllm", "service_label_team": "infra", "service_labelpresent_team": "true",
            "service_annotation_note_it": "yes", "service_annotationpresent_note_it": "true", "service_port_name": "http",
            "service_port_number": "80", "service_port_protocol": "TCP", "service_type": "ClusterIP", "service_cluster_ip": "10.96.0.10"})
        self.assertEqual(found["outside.other.svc:443"]["service_external_name"], "llm.example.com")
        self.assertNotIn("service_cluster_ip", found["outside.other.svc:443"])
        self.assertEqual(found["balanced.other.svc:82"]["service_loadbalancer_ip"], "5.6.7.8")

    def test_endpoints(self):
        cluster = self.cluster()
        found = self.found({"role": "endpoints", "api_server": cluster.url, "attach_metadata": {"node": True}})
        # 9400 of vllm-0 is no port of the service, but of a pod behind it.
        self.assertEqual(sorted(found), ["10.1.0.1:8000", "10.1.0.1:9400", "10.1.0.2:8000", "10.3.3.3:1", "10.9.9.9:8000", "192.168.0.1:8000"])
        ready = found["10.1.0.1:8000"]
        for name, value in {"endpoints_name": "vllm", "endpoint_ready": "true", "endpoint_port_name": "http", "endpoint_port_protocol": "TCP",
                "endpoint_address_target_kind": "Pod", "endpoint_address_target_name": "vllm-0", "endpoint_node_name": "gpu-1",
                "service_name": "vllm", "service_label_team": "infra", "endpoints_label_team": "infra", "endpoints_annotation_e_f": "g",
                "pod_name": "vllm-0", "pod_container_name": "server", "pod_container_port_number": "8000", "node_label_zone": "a"}.items():
            self.assertEqual(ready.get(name), value, name)
        self.assertEqual(found["10.1.0.2:8000"]["endpoint_ready"], "false")
        self.assertEqual(found["10.9.9.9:8000"]["endpoint_hostname"], "outsider")
        self.assertNotIn("pod_name", found["10.9.9.9:8000"])
        self.assertEqual(found["10.1.0.1:9400"]["pod_container_port_name"], "metrics")
        self.assertNotIn("endpoint_ready", found["10.1.0.1:9400"])
        self.assertEqual(found["192.168.0.1:8000"]["node_name"], "gpu-1")

    def test_endpoint_slices(self):
        cluster = self.cluster()
        found = self.found({"role": "endpointslice", "api_server": cluster.url, "namespaces": {"names": ["llm"]}})
        self.assertEqual(set(found), {"10.1.0.1:8000", "10.1.0.11:8000", "10.1.0.1:9400", "10.9.9.9:8000"})
        for name, value in {"endpointslice_name": "vllm-x1", "endpointslice_address_type": "IPv4", "endpointslice_port": "8000",
                "endpointslice_port_name": "http", "endpointslice_port_app_protocol": "http", "endpointslice_endpoint_conditions_ready": "true",
                "endpointslice_endpoint_conditions_serving": "true", "endpointslice_endpoint_conditions_terminating": "false",
                "endpointslice_endpoint_topology_topology_kubernetes_io_zone": "eu-a", "endpointslice_endpoint_zone": "eu-a",
                "endpointslice_label_kubernetes_io_service_name": "vllm", "endpointslice_annotation_s_t": "u", "service_name": "vllm",
                "endpointslice_address_target_name": "vllm-0", "pod_name": "vllm-0", "pod_container_name": "server"}.items():
            self.assertEqual(found["10.1.0.1:8000"].get(name), value, name)
        self.assertEqual(found["10.9.9.9:8000"]["endpointslice_endpoint_conditions_ready"], "false")
        self.assertTrue(all("/namespaces/llm/" in r for r in cluster.requests), cluster.requests)

    def test_ingresses(self):
        cluster = self.cluster()
        job = self.job({"role": "ingress", "api_server": cluster.url}, relabel_configs=[
            {"source_labels": [META + "ingress_path"], "target_label": "__metrics_path__"}])
        before = [{k.replace(META, ""): v for k, v in t["before"].items() if k not in HIDDEN} for t in job["targets"]]
        group = {"namespace": "llm", "ingress_name": "front", "ingress_class_name": "nginx", "ingress_label_tier": "edge", "ingress_labelpresent_tier": "true",
            "ingress_annotation_i_j": "k", "ingress_annotationpresent_i_j": "true"}
        expected = [dict(group, __address__=host, ingress_host=host, ingress_scheme=scheme, ingress_path=path) for host, scheme, path in (("llm.example.com", "https", "/v1"), ("llm.example.com", "https", "/"),
            ("a.wild.example.com", "https", "/"), ("a.b.wild.example.com", "http", "/x"), ("plain.example.com", "http", "/"))]
        self.assertEqual(sorted(json.dumps(t, sort_keys=True) for t in before), sorted(json.dumps(t, sort_keys=True) for t in expected))

    def test_usual_rules(self):
        """The annotations that many clusters' configurations go by."""
        cluster = self.cluster()
        job = self.job({"role": "pod", "api_server": cluster.url, "selectors": [{"role": "pod", "label": "app=vllm"}]}, relabel_configs=[
            {"source_labels": [META + "pod_annotation_prometheus_io_scrape"], "action": "keep", "regex": "true"},
            {"source_labels": [META + "pod_container_name"], "action": "keep", "regex": "server"},
            {"source_labels": ["__address__", META + "pod_annotation_prometheus_io_port"], "regex": r"([^:]+)(?::\d+)?;(\d+)",
                "replacement": "$1:$2", "target_label": "__address__"},
            {"action": "labelmap", "regex": META + "pod_label_(.+)"},
            {"source_labels": [META + "namespace"], "target_label": "namespace"},
            {"source_labels": [META + "pod_name"], "target_label": "pod"}])
        self.assertEqual([(t["url"], t["labels"]) for t in job["targets"]][:1], [("http://10.1.0.1:8000/metrics", {
            "app": "vllm", "app_kubernetes_io_part_of": "llm", "instance": "10.1.0.1:8000", "job": "k", "namespace": "llm", "pod": "vllm-0"})])
        self.assertEqual(len(job["targets"]), 3)  # both ports of vllm-0 became one; vllm-1 and six
        self.assertTrue(all("labelSelector=app%3Dvllm" in r for r in cluster.requests))

    def test_token_and_failures(self):
        cluster = self.cluster(token="secret")
        token = os.path.join(self.folder.name, "token")
        with open(token, "w", encoding="utf-8") as f:
            f.write("secret\n")
        good = self.job({"role": "node", "api_server": cluster.url + "/", "authorization": {"credentials_file": "token"}})
        self.assertEqual(len(good["targets"]), 2)
        bad = self.job({"role": "node", "api_server": cluster.url, "bearer_token": "wrong"})
        self.assertEqual((bad["targets"], bad["ready"]), ([], False))
        self.assertIn("HTTP 401", bad["error"])
        cluster.broken, cluster.token = True, None
        self.assertIn("HTTP status 500", self.job({"role": "node", "api_server": cluster.url})["error"])
        outside = self.job({"role": "pod"})
        self.assertIn("KUBERNETES_SERVICE_HOST", outside["error"])

    def test_pages(self):
        """Lists of any length come in parts."""
        cluster = self.cluster(page_size=1)
        self.assertEqual(len(self.found({"role": "service", "api_server": cluster.url})), 4)
        self.assertEqual(sum("continue=" in r for r in cluster.requests), 2)


if __name__ == "__main__":
    side_by_side.main()
