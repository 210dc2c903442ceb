/** The array types of Postgres' own types by OID. Those of enums, domains and other types of a workspace are not known. */
import { types } from "pg"

const { builtins } = types

/** The type of the elements of each array type. Elements of a `box[]` are not separated by commas: it is left out. */
export const elementTypes: ReadonlyMap<number, number> = new Map([
  [1000, builtins.BOOL],
  [1001, builtins.BYTEA],
  [1002, builtins.CHAR],
  [1003, 19], // name
  [1005, builtins.INT2],
  [1007, builtins.INT4],
  [1016, builtins.INT8],
  [1009, builtins.TEXT],
  [1028, builtins.OID],
  [199, builtins.JSON],
  [3807, builtins.JSONB],
  [143, builtins.XML],
  [1017, 600], // point
  [1018, 601], // lseg
  [1019, 602], // path
  [1027, 604], // polygon
  [629, 628], // line
  [719, 718], // circle
  [651, builtins.CIDR],
  [1041, builtins.INET],
  [1040, builtins.MACADDR],
  [775, builtins.MACADDR8],
  [1021, builtins.FLOAT4],
  [1022, builtins.FLOAT8],
  [791, builtins.MONEY],
  [1014, builtins.BPCHAR],
  [1015, builtins.VARCHAR],
  [1182, builtins.DATE],
  [1183, builtins.TIME],
  [1270, builtins.TIMETZ],
  [1115, builtins.TIMESTAMP],
  [1185, builtins.TIMESTAMPTZ],
  [1187, builtins.INTERVAL],
  [1561, builtins.BIT],
  [1563, builtins.VARBIT],
  [1231, builtins.NUMERIC],
  [2951, builtins.UUID],
  [3905, 3904], // int4range
  [3907, 3906], // numrange
  [3909, 3908], // tsrange
  [3911, 3910], // tstzrange
  [3913, 3912], // daterange
  [3927, 3926] // int8range
])

export const isJson = (type: number | undefined): boolean => type === builtins.JSON || type === builtins.JSONB
