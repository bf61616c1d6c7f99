import type { Client } from '@org/agent-messaging-client'
import { type Backend, firstOf } from '../backend.js'
import { ifAllowed } from '../client-error.js'
import { type Row, table } from '../output.js'

export type Names = Readonly<Record<string, string>>

const readers = {
  agent: async ({ agents }: Client) =>
    (await firstOf(agents.list())).map(({ id, name }) => [id, name]),
  webhook: async ({ webhooks }: Client) =>
    (await firstOf(webhooks.list())).map(({ id, url, description }) => [id, description ?? url]),
}

/** Returns names by id, of the kinds that the API key can list. */
export async function namesOf(client: Client, ...kinds: readonly (keyof typeof readers)[]) {
  const found = await Promise.all(kinds.map((kind) => ifAllowed(readers[kind](client))))
  return Object.fromEntries(found.flatMap((names) => names ?? []))
}

/** Returns the long text of a list: a table whose rows know the names. */
export const tableWithNames =
  <Value>(
    kinds: readonly (keyof typeof readers)[],
    row: (value: Value, names: Names) => Row,
    empty: string,
  ) =>
  async (found: readonly Value[], { client }: Backend) => {
    const names = await namesOf(client, ...kinds)
    return table(
      found.map((one) => row(one, names)),
      empty,
    )
  }

/** Returns `name (id)`, or the id of a thing without a known name. */
export const withName = (names: Names, id: string) =>
  names[id] === undefined ? id : `${names[id]} (${id})`
