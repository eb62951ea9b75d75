"""A node whose pods are processes, for Jobs: runs the first container's command of each pod that names it, serves its output as a
kubelet does (containerLogs), and reports how it ended.

job_node.py APISERVER TOKEN CERTIFICATE KEY FOLDER NODE     listens at a free port of 127.0.0.1, which the Node object then names
"""
import http.server
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

server, token, certificate, key, folder, node = sys.argv[1:7]
trust = ssl.create_default_context(cafile=certificate)
trust.check_hostname = False


def ask(method, path, body=None, kind='application/merge-patch+json'):
    """The API server's answer; None if it refuses, which the next round mends."""
    request = urllib.request.Request(server + path, method=method, data=json.dumps(body).encode() if body else None)
    request.add_header('Authorization', 'Bearer ' + token)
    request.add_header('Content-Type', kind)
    try:
        with urllib.request.urlopen(request, context=trust, timeout=20) as reply:
            return json.load(reply)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        print(method, path, error, flush=True)
        return None


def log_of(namespace, pod):
    return os.path.join(folder, '%s.%s.log' % (namespace, pod))


class Kubelet(http.server.BaseHTTPRequestHandler):
    """GET /containerLogs/NAMESPACE/POD/CONTAINER: each line is sent by itself, as a kubelet does."""
    protocol_version = 'HTTP/1.1'

    def do_GET(self):  # pylint: disable=invalid-name
        parts = self.path.split('?')[0].split('/')
        try:
            with open(log_of(parts[2], parts[3]), 'rb') as log:
                lines = log.read().splitlines(keepends=True)
        except (OSError, IndexError):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        for line in lines + [b'']:
            self.wfile.write(b'%x\r\n%s\r\n' % (len(line), line))

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def listen():
    kubelet = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Kubelet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    kubelet.socket = context.wrap_socket(kubelet.socket, server_side=True)
    threading.Thread(target=kubelet.serve_forever, daemon=True).start()
    return kubelet.server_address[1]


def register(port):
    """No other pod comes here: nothing tolerates the taint."""
    ask('POST', '/api/v1/nodes', {'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': node}, 'spec': {
        'taints': [{'key': 'test.flagger.app/jobs', 'effect': 'NoSchedule'}]}}, 'application/json')
    refresh(port)


def refresh(port):
    now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
    ask('PATCH', '/api/v1/nodes/%s/status' % node, {'status': {
        'addresses': [{'type': 'InternalIP', 'address': '127.0.0.1'}], 'daemonEndpoints': {'kubeletEndpoint': {'Port': port}},
        'conditions': [{'type': 'Ready', 'status': 'True', 'reason': 'KubeletReady', 'lastHeartbeatTime': now, 'lastTransitionTime': now}]}})


def start(pod):
    """Variables are put into words as Kubernetes does: $(NAME), and $$ is $."""
    container = pod['spec']['containers'][0]
    values = {one['name']: one.get('value', '') for one in container.get('env', [])}

    def expand(word):
        return re.sub(r'\$(\$|\(([A-Za-z_][A-Za-z0-9_]*)\))',
                      lambda m: '$' if m.group(1) == '$' else values.get(m.group(2), m.group(0)), word)

    words = [expand(word) for word in container.get('command', []) + container.get('args', [])]
    with open(log_of(pod['metadata']['namespace'], pod['metadata']['name']), 'wb') as log:
        return subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, **values})


def tell(pod, phase, code=None):
    container = pod['spec']['containers'][0]['name']
    state = {'running': {}} if code is None else {'terminated': {'exitCode': code, 'reason': 'Error' if code else 'Completed'}}
    return ask('PATCH', '/api/v1/namespaces/%s/pods/%s/status' % (pod['metadata']['namespace'], pod['metadata']['name']), {'status': {
        'phase': phase, 'containerStatuses': [{
            'name': container, 'image': 'process', 'imageID': '', 'ready': code is None, 'restartCount': 0, 'state': state}]}})


processes, told = {}, set()


def look(pod):
    uid = pod['metadata']['uid']
    if 'deletionTimestamp' in pod['metadata']:
        if uid in processes and processes[uid].poll() is None:
            processes[uid].kill()
        ask('DELETE', '/api/v1/namespaces/%s/pods/%s' % (pod['metadata']['namespace'], pod['metadata']['name']),
            {'apiVersion': 'v1', 'kind': 'DeleteOptions', 'gracePeriodSeconds': 0}, 'application/json')
    elif uid not in processes:
        processes[uid] = start(pod)
        tell(pod, 'Running')
    elif uid not in told and processes[uid].poll() is not None:
        code = processes[uid].returncode
        if tell(pod, 'Failed' if code else 'Succeeded', code):
            told.add(uid)


def main():
    port, rounds = listen(), 0
    register(port)
    while True:
        pods = ask('GET', '/api/v1/pods?fieldSelector=spec.nodeName=' + node)
        for pod in (pods or {}).get('items', []):
            look(pod)
        rounds += 1
        if rounds % 20 == 0:
            refresh(port)
        time.sleep(0.25)


main()
