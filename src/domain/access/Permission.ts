/** The permissions of keys and roles: ten groups, forty-five permissions. Specification: API key fields, Permission matrix. */
import { Schema } from "effect"
import presetFile from "./presets.json" with { type: "json" }

/** The permissions of each group. */
export const groups = {
  connectors: ["create", "read", "update", "delete", "write"],
  connections: ["create", "read", "update", "delete", "share", "decrypt"],
  workflows: ["create", "read", "update", "delete", "execute", "deploy_test", "deploy_prod"],
  users: ["create", "read", "update", "invite", "remove"],
  settings: ["read", "update", "manage"],
  events: ["create", "read", "update", "delete", "replay"],
  secrets: ["read", "write", "delete"],
  executions: ["create", "read"],
  widgets: ["create", "read", "update", "delete"],
  unified_api: ["create", "read", "update", "delete", "execute"]
} as const

export type Group = keyof typeof groups
/** One permission, written `group:permission`. */
export type Permission = { readonly [G in Group]: `${G}:${(typeof groups)[G][number]}` }[Group]

const isGroup = (name: string): name is Group => Object.hasOwn(groups, name)

/** Every permission, in the order of the matrix. */
export const allPermissions: ReadonlyArray<Permission> = Object.entries(groups).flatMap(([group, names]) =>
  names.map((name) => `${group}:${name}` as Permission)
)

const permissionNames: ReadonlySet<string> = new Set(allPermissions)
export const isPermission = (text: string): text is Permission => permissionNames.has(text)

/** A stored matrix: one of an earlier release may have permissions that are gone. */
export const StoredMatrix = Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) })

/** The matrix in JSON: permissions by group; absent groups have none. */
export const PermissionMatrix = StoredMatrix.pipe(
  Schema.filter((matrix) =>
    Object.entries(matrix).flatMap(([group, names]) =>
      names
        .filter((name) => !isPermission(`${group}:${name}`))
        .map((name) => ({
          path: [group],
          message: isGroup(group)
            ? `"${name}" is not a permission of ${group}; there are ${groups[group].join(", ")}`
            : `"${group}" is not a resource group; there are ${Object.keys(groups).join(", ")}`
        }))
    )
  ),
  Schema.annotations({ identifier: "PermissionMatrix" })
)
export type PermissionMatrix = typeof PermissionMatrix.Type

export type PermissionSet = ReadonlySet<Permission>

/** The permissions of a matrix; unknown ones are ignored. */
export const toSet = (matrix: PermissionMatrix): PermissionSet =>
  new Set(
    Object.entries(matrix).flatMap(([group, names]) => names.map((name) => `${group}:${name}`).filter(isPermission))
  )

/** The matrix of a set, with every group. */
export const toMatrix = (set: PermissionSet): PermissionMatrix =>
  Object.fromEntries(
    Object.entries(groups).map(([group, names]) => [
      group,
      names.filter((name) => set.has(`${group}:${name}` as Permission))
    ])
  )

/** A set of permissions with a name. `custom`: the matrix stands with its key or role. */
export const Preset = Schema.Literal("full_access", "developer", "operator", "viewer", "custom", "end_user")
export type Preset = typeof Preset.Type

const presetMatrices: Record<Exclude<Preset, "full_access" | "custom">, PermissionMatrix> = {
  developer: presetFile.presets.developer,
  operator: presetFile.presets.operator,
  viewer: presetFile.presets.viewer,
  end_user: presetFile.presets.end_user
}

/** The permissions of a preset. `custom` has none: its matrix is stored with the key. */
export const presetPermissions = (preset: Preset): PermissionSet => {
  if (preset === "full_access") return new Set(allPermissions)
  if (preset === "custom") return new Set()
  return toSet(presetMatrices[preset])
}

/** The permissions of `requested` that `own` does not have, which a key cannot grant. */
export const missingPermissions = (requested: PermissionSet, own: PermissionSet): ReadonlyArray<Permission> =>
  [...requested].filter((permission) => !own.has(permission))
