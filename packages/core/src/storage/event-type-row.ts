import {
  INSTALLATION,
  type EventType,
  type ListedEventType,
} from '../domain/webhooks/event-type.js'
import type { Instant } from '../domain/values/instant.js'
import type { JsonObject } from '../domain/values/json.js'

export type ListedTypeRow = {
  readonly projectId: string
  readonly name: string
  /** The fields that are never large, as JSON. */
  readonly facts: string
  readonly createdAt: Instant
  readonly updatedAt: Instant
}
/** The schema and the example are JSON. */
export type EventTypeRow = ListedTypeRow & {
  readonly schema: string | null
  readonly example: string | null
}

export const LISTED_TYPE_COLUMNS = [
  'projectId',
  'name',
  'facts',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof ListedTypeRow)[]
export const EVENT_TYPE_COLUMNS = [
  ...LISTED_TYPE_COLUMNS,
  'schema',
  'example',
] as const satisfies readonly (keyof EventTypeRow)[]

type Facts = Omit<ListedEventType, 'name' | 'definedBy' | 'createdAt' | 'updatedAt'>

const listed = ({ projectId, name, facts, createdAt, updatedAt }: ListedTypeRow) => ({
  ...(JSON.parse(facts) as Facts),
  name,
  definedBy: projectId === INSTALLATION ? ('installation' as const) : ('project' as const),
  createdAt,
  updatedAt,
})

export const toListedType = (row: ListedTypeRow): ListedEventType => listed(row)

export function toEventType(row: EventTypeRow): EventType {
  const { hasExample: _, ...type } = listed(row)
  return {
    ...type,
    ...(row.schema !== null && { schema: JSON.parse(row.schema) as JsonObject }),
    ...(row.example !== null && { example: JSON.parse(row.example) as JsonObject }),
  }
}

export function eventTypeColumns(
  projectId: string,
  { name, definedBy: _, schema, example, createdAt = 0, updatedAt = 0, ...facts }: EventType,
): EventTypeRow {
  const hasExample = example !== undefined
  return {
    projectId,
    name,
    facts: JSON.stringify({ ...facts, hasExample } satisfies Facts),
    schema: schema ? JSON.stringify(schema) : null,
    example: hasExample ? JSON.stringify(example) : null,
    createdAt,
    updatedAt,
  }
}

/** Sorts the types by name, without those that a type of the installation hides. */
export function oncePerName<Row extends { readonly name: string }>(
  ofInstallation: readonly Row[],
  ofProject: readonly Row[],
): Row[] {
  const hidden = new Set(ofInstallation.map(({ name }) => name))
  return [...ofInstallation, ...ofProject.filter(({ name }) => !hidden.has(name))].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}
