/** Fields that choose a record by its name: the first two hundred are offered. */
import { useList } from "../api/Reads.js"
import { useMay } from "../api/Session.js"
import { Select } from "./Field.js"

interface ChoiceProps {
  readonly label?: string
  readonly value: string
  readonly onChange: (id: string) => void
  readonly none?: string
  readonly wrong?: string | undefined
  readonly hint?: string
}

const pageSize = 200

/** The hint of a choice whose records the role may not read: the id can come from elsewhere, or none is chosen. */
const hintOf = (isAllowed: boolean, permission: string, hint: string | undefined): Pick<ChoiceProps, "hint"> => {
  const shown = isAllowed ? hint : `Your role does not show them: that takes ${permission}.`
  return shown === undefined ? {} : { hint: shown }
}

export const CustomerChoice = ({ hint, label = "Customer", ...props }: ChoiceProps) => {
  const enabled = useMay("users:read")
  const { rows } = useList("/api/v1/customers", { status: "active" }, { pageSize, enabled })
  const options = rows.map(({ id, name }) => [id, name] as const)
  return <Select {...props} {...hintOf(enabled, "users:read", hint)} label={label} options={options} />
}

export const WorkflowChoice = ({ hint, label = "Workflow", ...props }: ChoiceProps) => {
  const enabled = useMay("workflows:read")
  const { rows } = useList("/api/v1/workflows", {}, { pageSize, enabled })
  const options = rows.map(({ id, name }) => [id, name] as const)
  return <Select {...props} {...hintOf(enabled, "workflows:read", hint)} label={label} options={options} />
}

export const RoleChoice = ({ label = "Role", ...props }: ChoiceProps) => {
  const { rows } = useList("/api/v1/roles", {}, { pageSize })
  return <Select {...props} label={label} options={rows.map(({ id, name }) => [id, name] as const)} />
}

/** Its value is the slug. */
export const EnvironmentChoice = ({ hint, label = "Environment", ...props }: ChoiceProps) => {
  const enabled = useMay("workflows:read")
  const { rows } = useList("/api/v1/environments", {}, { pageSize, enabled })
  const options = rows.map(({ name, slug }) => [slug, name] as const)
  return <Select {...props} {...hintOf(enabled, "workflows:read", hint)} label={label} options={options} />
}
