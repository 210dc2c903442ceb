/** The answer to `GET /me`: the caller, with its organisation and rights. Contract: users and sessions. */
import { Schema } from "effect"
import { NullableText } from "../Scalars.js"
import { PermissionMatrix } from "./Permission.js"

const Named = Schema.Struct({ id: Schema.String, name: Schema.String })

/** The caller of a request. A key belongs to one organisation, a person to one or several. */
export const Me = Schema.Struct({
  kind: Schema.Literal("key", "person", "embed", "agent", "oauth", "service"),
  id: Schema.String,
  name: Schema.String,
  email: NullableText.annotations({ description: "null: the caller is no person" }),
  organisation: Schema.Struct({
    ...Named.fields,
    codeEditing: Schema.Boolean.annotations({ description: "whether workflows may be written as code" })
  }),
  spaceId: Schema.String,
  permissions: PermissionMatrix,
  customerIds: Schema.Array(Schema.String).annotations({ description: "empty: all customers" }),
  organisations: Schema.Array(Named).annotations({
    description: "those in which the person may act; the header x-svc-organization chooses one"
  })
}).annotations({ identifier: "Me" })
export type Me = typeof Me.Type
