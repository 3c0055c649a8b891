"""A fake Kubernetes API: lists with pages, watches, selectors, namespaces. Cluster().url is its address. put() and delete() change objects and tell
the watches; `objects` may be changed too, which nobody is told."""

import copy
import http.server
import json
import threading
import time
import urllib.parse

PATHS = {
    "nodes": "/api/v1", "pods": "/api/v1", "services": "/api/v1", "endpoints": "/api/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1", "namespaces": "/api/v1", "ingresses": "/apis/networking.k8s.io/v1",
}
KINDS = {"nodes": "Node", "pods": "Pod", "services": "Service", "endpoints": "Endpoints", "endpointslices": "EndpointSlice", "namespaces": "Namespace",
    "ingresses": "Ingress"}


def pod(name, namespace, ip, node, ports=(("http", 8000),), **more):
    containers = [{"name": "server", "image": "vllm/vllm-openai:v0.11.0",
        "ports": [{"name": n, "containerPort": p, "protocol": "TCP"} for n, p in ports]}, {"name": "sidecar", "image": "proxy:1"}]
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": {"app": "vllm", "app.kubernetes.io/part-of": "llm"},
        "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8000"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "vllm-abc", "uid": "u1", "controller": True}]}
    meta.update(more.get("meta", {}))
    status = {"phase": more.get("phase", "Running"), "hostIP": "192.168.0.1", "conditions": [{"type": "Ready", "status": more.get("ready", "True")}],
        "containerStatuses": [{"name": "server", "containerID": f"containerd://{name}", "ready": True, "restartCount": 0, "image": "", "imageID": ""}]}
    if ip:
        status["podIP"] = ip
    init = [{"name": "download", "image": "fetch:2", "ports": [{"containerPort": 7000, "protocol": "TCP"}]}] if more.get("init") else []
    return {"metadata": meta, "spec": {"nodeName": node, "containers": containers, "initContainers": init}, "status": status}


def default_objects():
    reference = {"kind": "Pod", "namespace": "llm", "name": "vllm-0"}
    return {
        "nodes": [{"metadata": {"name": "gpu-1", "labels": {"nvidia.com/gpu.product": "H100", "zone": "a"}, "annotations": {"x.y/z": "1"}},
            "spec": {"providerID": "aws:///eu/i-1"}, "status": {"addresses": [{"type": "Hostname", "address": "gpu-1.local"},
            {"type": "InternalIP", "address": "192.168.0.1"}, {"type": "ExternalIP", "address": "1.2.3.4"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}},
            {"metadata": {"name": "gpu-2"}, "spec": {}, "status": {"addresses": [{"type": "Hostname", "address": "gpu-2.local"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}}],
        "pods": [pod("vllm-0", "llm", "10.1.0.1", "gpu-1", (("http", 8000), ("metrics", 9400))), pod("vllm-1", "llm", "10.1.0.2", "gpu-2", ready="False"),
            pod("vllm-2", "llm", "", "", phase="Pending"), pod("six", "other", "fd00::7", "gpu-1", init=True),
            pod("bare", "other", "10.1.0.9", "gpu-9", (), meta={"labels": {}, "annotations": {}, "ownerReferences": []})],
        "services": [{"metadata": {"name": "vllm", "namespace": "llm", "labels": {"team": "infra"}, "annotations": {"note/it": "yes"}},
            "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.10", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}},
            {"metadata": {"name": "outside", "namespace": "other"}, "spec": {"type": "ExternalName", "externalName": "llm.example.com",
            "ports": [{"port": 443, "protocol": "TCP"}]}},
            {"metadata": {"name": "balanced", "namespace": "other"}, "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.11",
            "loadBalancerIP": "5.6.7.8", "ports": [{"name": "a", "port": 81, "protocol": "TCP"}, {"name": "b", "port": 82, "protocol": "UDP"}]}}],
        "endpoints": [{"metadata": {"name": "vllm", "namespace": "llm", "labels": {"team": "infra"}, "annotations": {"e/f": "g"}}, "subsets": [{
            "addresses": [{"ip": "10.1.0.1", "nodeName": "gpu-1", "targetRef": reference}, {"ip": "10.9.9.9", "hostname": "outsider"},
                {"ip": "192.168.0.1", "targetRef": {"kind": "Node", "name": "gpu-1"}}],
            "notReadyAddresses": [{"ip": "10.1.0.2", "nodeName": "gpu-2", "targetRef": dict(reference, name="vllm-1")}],
            "ports": [{"name": "http", "port": 8000, "protocol": "TCP"}]}]},
            {"metadata": {"name": "lonely", "namespace": "other"}, "subsets": [{"addresses": [{"ip": "10.3.3.3"}], "ports": [{"port": 1, "protocol": "TCP"}]}]}],
        "endpointslices": [{"metadata": {"name": "vllm-x1", "namespace": "llm", "labels": {"kubernetes.io/service-name": "vllm"}, "annotations": {"s/t": "u"}},
            "addressType": "IPv4", "ports": [{"name": "http", "port": 8000, "protocol": "TCP", "appProtocol": "http"}],
            "endpoints": [{"addresses": ["10.1.0.1", "10.1.0.11"], "conditions": {"ready": True, "serving": True, "terminating": False},
                "nodeName": "gpu-1", "zone": "eu-a", "targetRef": reference, "deprecatedTopology": {"topology.kubernetes.io/zone": "eu-a"}},
                {"addresses": ["10.9.9.9"], "conditions": {"ready": False}, "hostname": "outsider"}]}],
        "namespaces": [{"metadata": {"name": "llm"}}, {"metadata": {"name": "other"}}],
        "ingresses": [{"metadata": {"name": "front", "namespace": "llm", "labels": {"tier": "edge"}, "annotations": {"i/j": "k"}}, "spec": {
            "ingressClassName": "nginx", "tls": [{"hosts": ["llm.example.com", "*.wild.example.com"]}], "rules": [
                {"host": "llm.example.com", "http": {"paths": [{"path": "/v1", "pathType": "Prefix"}, {"pathType": "Prefix"}]}},
                {"host": "a.wild.example.com", "http": {"paths": [{"path": "/"}]}}, {"host": "a.b.wild.example.com", "http": {"paths": [{"path": "/x"}]}},
                {"host": "plain.example.com"}]}},
            {"metadata": {"name": "empty", "namespace": "other"}, "spec": {}}],
    }


def selected(item, selector):
    labels = item["metadata"].get("labels", {})
    return all(labels.get(part.split("=")[0]) == part.split("=")[-1] for part in selector.split(",") if part)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def watch(self, name, namespace, query):
        """Events after the version that the client knows, until it is told otherwise; in pieces that end anywhere."""
        cluster = self.server.cluster
        since, selector = int(query.get("resourceVersion", "0") or 0), query.get("labelSelector", "")
        with cluster.lock:
            gone, drops = since < cluster.oldest, cluster.drops
        if cluster.refuses_watches:
            return self.answer(403, {"kind": "Status", "code": 403})
        if gone and cluster.gone_by_status:
            return self.answer(410, {"kind": "Status", "code": 410})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if gone:
            self.chunks({"type": "ERROR", "object": {"kind": "Status", "code": 410}})
        end = time.monotonic() + float(query.get("timeoutSeconds", "60"))
        while not gone and not cluster.closed and cluster.drops == drops and time.monotonic() < end:
            with cluster.lock:
                cluster.news.wait_for(lambda: cluster.version > since or cluster.closed or cluster.drops != drops, 0.2)
                events = [e for e in cluster.events if e[0] > since and e[1] == name]
                since = max([since, *(e[0] for e in events)])
            for _, _, kind, item in events:
                if kind == "BOOKMARK" or (namespace in ("", item["metadata"].get("namespace")) and selected(item, selector)):
                    self.chunks({"type": kind, "object": item})
        if cluster.ends_in_order:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True
        return None

    def chunks(self, event):
        line = json.dumps(event).encode() + b"\n"
        for i in range(0, len(line), 97):
            part = line[i:i + 97]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
        cluster = self.server.cluster
        cluster.requests.append(self.path)
        if cluster.token and self.headers.get("Authorization") != f"Bearer {cluster.token}":
            return self.answer(401, {"kind": "Status", "code": 401})
        if cluster.broken:
            return self.answer(500, {"kind": "Status", "code": 500})
        for name, prefix in PATHS.items():
            rest = url.path[len(prefix):] if url.path.startswith(prefix + "/") else ""
            parts = rest.strip("/").split("/")
            if parts[-1] != name or len(parts) not in (1, 3):
                continue
            if query.get("watch") in ("1", "true"):
                try:
                    return self.watch(name, parts[1] if len(parts) == 3 else "", query)
                except OSError:
                    self.close_connection = True
                    return None
            with cluster.lock:
                items, version = copy.deepcopy(cluster.objects[name]), str(cluster.version)
            if len(parts) == 3:
                items = [i for i in items if i["metadata"].get("namespace") == parts[1]]
            items = [i for i in items if selected(i, query.get("labelSelector", ""))]
            return self.answer(200, self.page(name, prefix, items, query, version))
        if url.path == "/version":
            return self.answer(200, {"major": "1", "minor": "31", "gitVersion": "v1.31.0"})
        return self.answer(404, {"kind": "Status", "code": 404})

    def page(self, name, prefix, items, query, version):
        """At most page_size items, with a token for the rest."""
        start = int(query.get("continue", "0") or 0)
        size = self.server.cluster.page_size if "limit" in query else len(items) + 1
        meta = {"resourceVersion": version}
        if start + size < len(items):
            meta["continue"] = str(start + size)
        return {"kind": KINDS[name] + "List", "apiVersion": prefix.split("/", 2)[2], "metadata": meta, "items": items[start:start + size]}

    def log_message(self, *args):
        pass


class Cluster:
    """Serves until closed."""

    def __init__(self, page_size=2, token=None):
        self.objects, self.page_size, self.token = default_objects(), page_size, token
        self.lock, self.closed, self.broken, self.requests = threading.RLock(), False, False, []
        self.news, self.version, self.oldest, self.events, self.drops = threading.Condition(self.lock), 7, 0, [], 0
        self.refuses_watches = self.gone_by_status = False
        self.ends_in_order = True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.cluster = self
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def event(self, name, kind, item):
        with self.lock:
            self.version += 1
            item["metadata"]["resourceVersion"] = str(self.version)
            self.events.append((self.version, name, kind, copy.deepcopy(item)))
            self.news.notify_all()

    def put(self, name, item):
        """Makes or changes an object."""
        with self.lock:
            key = [item["metadata"].get(k) for k in ("namespace", "name")]
            old = [o for o in self.objects[name] if [o["metadata"].get(k) for k in ("namespace", "name")] == key]
            self.objects[name] = [o for o in self.objects[name] if o not in old] + [item]
            self.event(name, "MODIFIED" if old else "ADDED", item)

    def delete(self, name, item_name):
        with self.lock:
            for item in [o for o in self.objects[name] if o["metadata"]["name"] == item_name]:
                self.objects[name].remove(item)
                self.event(name, "DELETED", item)

    def bookmark(self, name):
        self.event(name, "BOOKMARK", {"kind": KINDS[name], "metadata": {}})

    def drop_watches(self):
        with self.lock:
            self.drops += 1
            self.news.notify_all()

    def forget(self):
        """What happened until now is too old to go on from."""
        with self.lock:
            self.events, self.version = [], self.version + 1
            self.oldest = self.version

    def lists(self):
        return [r for r in self.requests if "watch=" not in r and "continue=" not in r]

    def watches(self):
        return [r for r in self.requests if "watch=" in r]

    def close(self):
        self.closed = True
        with self.lock:
            self.news.notify_all()
        self.server.shutdown()
        self.server.server_close()
