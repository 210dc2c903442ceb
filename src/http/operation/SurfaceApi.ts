/** The typed `HttpApi` of a surface, made from its operations; the documents are generated from it. */
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { Schema } from "effect"
import type { AnySchema, Contract } from "./Contract.js"

/**
 * The library's builders without the schemas that they collect in their types: a table of all operations cannot have these,
 * and each row's types were checked where it was declared. This is the one place that leaves them out.
 */
interface EndpointBuilder {
  readonly setPath: (schema: AnySchema) => EndpointBuilder
  readonly setUrlParams: (schema: AnySchema) => EndpointBuilder
  readonly setPayload: (schema: AnySchema) => EndpointBuilder
  readonly addSuccess: (schema: AnySchema) => EndpointBuilder
  readonly addError: (schema: Schema.Schema.All) => EndpointBuilder
}
interface GroupBuilder {
  readonly add: (endpoint: EndpointBuilder) => GroupBuilder
}
interface ApiBuilder {
  readonly addError: (schema: Schema.Schema.All) => ApiBuilder
  readonly add: (group: GroupBuilder) => ApiBuilder
}

const endpointOf = ({ failures, input, method, name, outputs, path }: Contract): EndpointBuilder => {
  let endpoint = HttpApiEndpoint.make(method)(name, path as `/${string}`) as unknown as EndpointBuilder
  if (input.path !== undefined) endpoint = endpoint.setPath(input.path)
  if (input.query !== undefined) endpoint = endpoint.setUrlParams(input.query)
  if (input.body !== undefined) endpoint = endpoint.setPayload(input.body)
  for (const { schema } of outputs) endpoint = endpoint.addSuccess(schema)
  return failures === undefined ? endpoint : endpoint.addError(failures)
}

/** `failures`: those of every operation that declares no others. */
export const surfaceApi = (id: string, contracts: ReadonlyArray<Contract>, failures?: Schema.Schema.All) => {
  const groups = new Map<string, GroupBuilder>()
  for (const contract of contracts) {
    const group = groups.get(contract.group) ?? (HttpApiGroup.make(contract.group) as unknown as GroupBuilder)
    groups.set(contract.group, group.add(endpointOf(contract)))
  }
  let api = HttpApi.make(id) as unknown as ApiBuilder
  if (failures !== undefined) api = api.addError(failures)
  for (const group of groups.values()) api = api.add(group)
  return api as unknown as HttpApi.HttpApi<string, HttpApiGroup.HttpApiGroup.Any>
}
