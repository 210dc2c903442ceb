/** Permissions as a table of areas and actions: what a preset grants, or what is chosen. */
import presetTable from "../../../../domain/access/presets.json"
import type { ApiSchemas } from "../api/Client.js"
import { useMe } from "../api/Session.js"

type Matrix = ApiSchemas["PermissionMatrix"]

const groups: Readonly<Record<string, ReadonlyArray<string>>> = presetTable.groups
const presets: Readonly<Record<string, unknown>> = presetTable.presets

/** What a preset grants; `custom` grants nothing by itself. */
export const grantedBy = (preset: string): Matrix => {
  const found = presets[preset]
  return found === "*" ? (groups as Matrix) : ((found ?? {}) as Matrix)
}

const has = (matrix: Matrix, area: string, action: string): boolean => matrix[area]?.includes(action) ?? false

const toggled = (matrix: Matrix, area: string, action: string): Matrix => {
  const before = matrix[area] ?? []
  const after = before.includes(action) ? before.filter((one) => one !== action) : [...before, action]
  const { [area]: _, ...others } = matrix
  return after.length === 0 ? others : { ...others, [area]: after }
}

/** Without `onChange` it only shows. What the person lacks cannot be chosen: nobody grants more than they have. */
export const PermissionChecks = ({
  legend,
  matrix,
  onChange
}: {
  readonly legend: string
  readonly matrix: Matrix
  readonly onChange?: (matrix: Matrix) => void
}) => {
  const me = useMe()
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div className="table-scroll">
        <table>
          <tbody>
            {Object.entries(groups).map(([area, actions]) => (
              <tr key={area}>
                <th scope="row">{area.replaceAll("_", " ")}</th>
                <td>
                  <div className="row">
                    {actions.map((action) => (
                      <label key={action} className="check">
                        <input
                          type="checkbox"
                          aria-label={`${area}:${action}`}
                          checked={has(matrix, area, action)}
                          disabled={onChange === undefined || !has(me.permissions, area, action)}
                          onChange={() => onChange?.(toggled(matrix, area, action))}
                        />
                        <span>{action.replaceAll("_", " ")}</span>
                      </label>
                    ))}
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </fieldset>
  )
}
