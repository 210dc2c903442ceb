/** Fields that choose a record by its name: the first two hundred are offered. */
import { useList } from "../api/Reads.js"
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

export const CustomerChoice = ({ label = "Customer", ...props }: ChoiceProps) => {
  const { rows } = useList("/api/v1/customers", { status: "active" }, { pageSize })
  return <Select {...props} label={label} options={rows.map(({ id, name }) => [id, name] as const)} />
}

export const WorkflowChoice = ({ label = "Workflow", ...props }: ChoiceProps) => {
  const { rows } = useList("/api/v1/workflows", {}, { pageSize })
  return <Select {...props} label={label} options={rows.map(({ id, name }) => [id, name] as const)} />
}

export const RoleChoice = ({ label = "Role", ...props }: ChoiceProps) => {
  const { rows } = useList("/api/v1/roles", {}, { pageSize })
  return <Select {...props} label={label} options={rows.map(({ id, name }) => [id, name] as const)} />
}

/** Its value is the slug. */
export const EnvironmentChoice = ({ label = "Environment", ...props }: ChoiceProps) => {
  const { rows } = useList("/api/v1/environments", {}, { pageSize })
  return <Select {...props} label={label} options={rows.map(({ name, slug }) => [slug, name] as const)} />
}
