/** The manifests conform to Kubernetes' API and fit the image, the service's settings and each other. */
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { parse } from "yaml"
import { settings } from "../../src/runtime/configuration/SettingTable.js"
import { imageOf, readDockerfile, root } from "../support/deploy/Dockerfile.js"
import { type KubernetesObject, kustomized } from "../support/deploy/Kustomize.js"
import { manifestProblem } from "../support/deploy/Schemas.js"

const base = kustomized("deploy/kubernetes/base")
const overlay = kustomized("deploy/kubernetes/overlays/unfinished-runs")
const find = (objects: ReadonlyArray<KubernetesObject>, kind: string, name: string): KubernetesObject =>
  objects.find((one) => one.kind === kind && one.metadata.name === name) ?? assert.fail(`there is no ${kind} ${name}`)

describe.each([
  ["the base", base],
  ["the overlay for unfinished runs", overlay]
])("%s", (_, objects) => {
  it.each(objects.map((one) => [`${one.kind} ${one.metadata.name}`, one] as const))(
    "%s conforms",
    async (_, object) => {
      assert.strictEqual(manifestProblem(object), "")
    }
  )
})

describe("a manifest with a mistake", () => {
  const deployment = find(base, "Deployment", "api")
  // The copy is broken in places that its type would not allow.
  type Broken = any // oxlint-disable-line typescript/no-explicit-any
  const changed = (change: (copy: Broken) => void) => {
    const copy = structuredClone(deployment)
    change(copy)
    return manifestProblem(copy)
  }
  const container = (copy: Broken) => copy.spec.template.spec.containers[0]
  it("does not conform", () => {
    assert.match(
      changed((copy) => (copy.spec.template.spec.terminationGracePeriod = 40)),
      /additional properties/
    )
    assert.match(
      changed((copy) => delete copy.spec.selector),
      /selector/
    )
    assert.match(
      changed((copy) => (container(copy).ports[0].containerPort = "8080")),
      /must be integer/
    )
    assert.match(
      changed((copy) => (container(copy).readinessProbe.httpGet.portt = 1)),
      /additional properties/
    )
    assert.match(
      changed((copy) => (container(copy).resources.requests.memory = "1 GiB")),
      /quantity|must match/
    )
    assert.match(manifestProblem({ ...deployment, kind: "Pod" }), /there is no schema/)
  })
})

describe.each(["api", "runner"])("the Deployment %s", (role) => {
  const { spec } = find(base, "Deployment", role)
  const pod = spec.template.spec
  const [container, ...others] = pod.containers
  const image = imageOf(readDockerfile())

  it("runs the image's command of its role as the image's user, on a read-only root file system", () => {
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(container.args, ["start", "--role", role])
    assert.deepInclude(pod.securityContext, {
      runAsNonRoot: true,
      runAsUser: image.user.uid,
      runAsGroup: image.user.gid
    })
    assert.deepStrictEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] }
    })
    const places = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)
    assert.sameMembers(places, [...image.volumes, "/tmp"])
    assert.sameMembers(
      container.volumeMounts.map(({ name }: { name: string }) => name),
      pod.volumes.map(({ name }: { name: string }) => name)
    )
  })

  it("replaces one node at a time, and lets each end in its own time", () => {
    assert.deepStrictEqual(spec.strategy, {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
    })
    const { data = {} } = find(base, "ConfigMap", "svc")
    const [, wait = ""] = container.lifecycle.preStop.exec.command
    assert.isAtLeast(
      pod.terminationGracePeriodSeconds,
      Number(wait) + Number.parseInt(data["SVC_SHUTDOWN_GRACE"] ?? "", 10) + 5
    )
    assert.strictEqual(find(base, "PodDisruptionBudget", role).spec.maxUnavailable, 1)
  })

  it("is probed where svc answers", () => {
    const pathOf = (probe: string) => container[probe].httpGet.path
    assert.deepStrictEqual(
      [pathOf("startupProbe"), pathOf("livenessProbe"), pathOf("readinessProbe")],
      ["/healthz", "/healthz", "/readyz"]
    )
    const port = container.ports.find(({ name }: { name: string }) => name === "http").containerPort
    assert.strictEqual(settings.find(({ name }) => name === "SVC_PORT")?.defaultText, String(port))
    // Else Kubernetes sets SVC_PORT for the Service `svc`.
    assert.isFalse(pod.enableServiceLinks)
  })

  it("takes its secrets by reference, and only variables that svc has", () => {
    assert.deepStrictEqual(container.envFrom, [{ configMapRef: { name: "svc" } }, { secretRef: { name: "svc" } }])
    const { data = {} } = find(base, "ConfigMap", "svc")
    const own = (container.env ?? [])
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => name !== "POD_IP")
    for (const name of [...own, ...Object.keys(data)]) {
      const setting = settings.find((one) => one.name === name)
      assert.isDefined(setting, name)
      assert.isFalse(setting?.secret, name)
    }
    assert.deepStrictEqual(own, role === "runner" ? ["SVC_NODE_ADDRESS", "SVC_NODE_LISTEN"] : [])
    assert.isUndefined(base.find(({ kind }) => kind === "Secret"))
  })

  it("is scaled by CPU, and found by what belongs to it", () => {
    const scaler = find(base, "HorizontalPodAutoscaler", role).spec
    assert.deepInclude(scaler.scaleTargetRef, { kind: "Deployment", name: role })
    assert.strictEqual(scaler.metrics[0].resource.name, "cpu")
    assert.isDefined(container.resources.requests.cpu, "a utilisation needs a request")
    const { labels } = spec.template.metadata
    const chosen = [
      spec.selector.matchLabels,
      find(base, "PodDisruptionBudget", role).spec.selector.matchLabels,
      find(base, "NetworkPolicy", role).spec.podSelector.matchLabels,
      ...(role === "api" ? [find(base, "Service", "svc").spec.selector] : [])
    ]
    for (const one of chosen) assert.deepStrictEqual(one, labels)
  })
})

it("only nodes of svc reach the port between nodes", () => {
  const [container] = find(base, "Deployment", "runner").spec.template.spec.containers
  const { containerPort, name } = container.ports[1]
  assert.include(JSON.stringify(container.env), `:${containerPort}`)
  const rules: ReadonlyArray<{ from?: unknown; ports: ReadonlyArray<{ port: string }> }> = find(
    base,
    "NetworkPolicy",
    "runner"
  ).spec.ingress
  const open = rules.filter(({ ports }) => ports.some(({ port }) => port === name))
  assert.deepStrictEqual(
    open.map(({ from }) => from),
    [[{ podSelector: { matchLabels: { "app.kubernetes.io/name": "svc" } } }]]
  )
  for (const { from, ports } of rules)
    for (const { port } of ports) assert.isTrue(port === "http" || from !== undefined)
})

it("the overlay scales runners by unfinished runs, through the adapter's rules", () => {
  const [cpu, ...more] = find(overlay, "HorizontalPodAutoscaler", "runner").spec.metrics
  assert.strictEqual(cpu.type, "Resource")
  interface Asked {
    readonly type: string
    readonly pods?: { readonly metric: { readonly name: string } }
    readonly external?: { readonly metric: { readonly name: string } }
  }
  const asked = more.map(({ external, pods, type }: Asked) => [type, (pods ?? external)?.metric.name])
  assert.deepStrictEqual(asked, [
    ["Pods", "svc_runs_live"],
    ["External", "svc_queue_waiting"]
  ])
  const adapter = parse(
    fs.readFileSync(path.join(root, "deploy/kubernetes/overlays/unfinished-runs/metrics-adapter.yaml"), "utf8")
  )
  const named = (rules: ReadonlyArray<{ name: { as: string }; metricsQuery: string }>) =>
    rules.map(({ metricsQuery, name }) => [name.as, metricsQuery.slice(0, 3)])
  assert.deepStrictEqual(
    [named(adapter.rules), named(adapter.externalRules)],
    [[["svc_runs_live", "sum"]], [["svc_queue_waiting", "max"]]]
  )
  const half = Number(more[0].pods.target.averageValue)
  assert.isBelow(half, Number(settings.find(({ name }) => name === "SVC_RUN_SLOTS")?.defaultText))
})
