/** Builds a kustomization as `kubectl kustomize` does, as far as those of `deploy/kubernetes` use it. */
import { assert } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { root } from "./Dockerfile.js"

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  // Each kind has its own; the schemas check them.
  readonly spec: any // oxlint-disable-line typescript/no-explicit-any
  readonly data?: Readonly<Record<string, string>>
}

interface Kustomization {
  readonly kind: string
  readonly resources: ReadonlyArray<string>
  readonly labels?: ReadonlyArray<{ readonly pairs: Readonly<Record<string, string>> }>
  readonly images?: ReadonlyArray<{ readonly name: string; readonly newTag: string }>
  readonly patches?: ReadonlyArray<{
    readonly path: string
    readonly target: { readonly kind: string; readonly name: string }
  }>
}

interface Operation {
  readonly op: string
  readonly path: string
  readonly value: unknown
}

const known = new Set(["apiVersion", "kind", "resources", "labels", "images", "patches"])

const read = (folder: string, name: string) => fs.readFileSync(path.join(root, folder, name), "utf8")

/** Of JSON Patch what the overlays use: a value at the end of a list. */
const patched = (object: KubernetesObject, { op, path: place, value }: Operation): KubernetesObject => {
  const parts = place.split("/").slice(1)
  assert.deepStrictEqual([op, parts.at(-1)], ["add", "-"], "another operation than those that are read here")
  const copy = structuredClone(object)
  // The path leads to a list.
  let list: any = copy // oxlint-disable-line typescript/no-explicit-any
  for (const part of parts.slice(0, -1)) list = list[part]
  list.push(value)
  return copy
}

/** The objects of a kustomization. */
export const kustomized = (folder: string): ReadonlyArray<KubernetesObject> => {
  const {
    images = [],
    labels = [],
    patches = [],
    resources,
    ...rest
  }: Kustomization = parse(read(folder, "kustomization.yaml"))
  assert.deepStrictEqual(
    Object.keys(rest).filter((name) => !known.has(name)),
    []
  )
  const pairs = Object.assign({}, ...labels.map((one) => one.pairs))
  const objects = resources.flatMap((name) =>
    name.endsWith(".yaml")
      ? parseAllDocuments(read(folder, name)).map((document): KubernetesObject => document.toJS())
      : kustomized(path.join(folder, name))
  )
  const changed = patches.reduce((all: ReadonlyArray<KubernetesObject>, { path: file, target }) => {
    const operations: ReadonlyArray<Operation> = parse(read(folder, file))
    const isTarget = ({ kind, metadata }: KubernetesObject) => kind === target.kind && metadata.name === target.name
    assert.lengthOf(all.filter(isTarget), 1, `the target of ${file}`)
    return all.map((one) => (isTarget(one) ? operations.reduce(patched, one) : one))
  }, objects)
  return changed.map((object) => {
    const text = JSON.stringify({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...pairs } }
    })
    return JSON.parse(
      images.reduce((all, { name, newTag }) => all.replaceAll(`"image":"${name}"`, `"image":"${name}:${newTag}"`), text)
    )
  })
}
