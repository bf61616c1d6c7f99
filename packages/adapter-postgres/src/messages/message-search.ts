import { idEndIn } from '@org/agent-messaging-core/runtime'
import type { MessageSearch, PageOf } from '@org/agent-messaging-core/storage'
import {
  all,
  searchMessages as search,
  type Look,
  type Place,
  type SearchDialect,
  type Source,
  type Sql,
} from '@org/agent-messaging-sql-kit'
import { dialect } from '../database/operations.js'

export const searched: SearchDialect = {
  ...dialect,
  source: 'owner.source',
  before: 'owner.before',
  beforeAt: 'owner."beforeAt"',
  correlationStart: `strpos(m.metadata, '"correlationId"') > 0
    and "left"(m.metadata::jsonb ->> 'correlationId', 64) = "left"(@correlationId, 64)`,
  correlation: `m.metadata::jsonb ->> 'correlationId' = @correlationId
    and jsonb_typeof(m.metadata::jsonb -> 'correlationId') in ('string', 'number')`,
  hasAnswer: 'm.response is not null',
  tables: (path, { state }) =>
    path === 'open'
      ? dialect
          .unanswered('owner.source', state)
          .map(({ table, condition }) => ({ table: `${table} m`, condition }))
      : [
          {
            table: path === 'scope' ? OF_SESSIONS : 'agent_messaging.messages m',
            condition: 'true',
          },
        ],
  eachSource: (places, path) => `
    select owner.source, place.*
    from jsonb_to_recordset(@sources::jsonb)
        as owner (source ${path === 'session' ? 'bigint' : 'text'}, before bigint, "beforeAt" bigint)
      cross join lateral (${places}) place
    order by place.at desc, place.seq desc`,
}
const OF_SESSIONS = `
  agent_messaging.sessions s join agent_messaging.messages m on m.session_seq = s.seq`

/** The collation C changes the case of ASCII letters only, as every other store does. */
const has = (column: string): string =>
  `strpos(lower(${column} collate "C"), lower(@text collate "C")) > 0`
const withTextSql: Sql<
  { readonly ids: readonly string[]; readonly text: string; readonly idEnd: string | undefined },
  { readonly id: string }
> = () => `
    select m.id from agent_messaging.messages m
      join agent_messaging.sessions s on s.seq = m.session_seq
    where m.id = any(@ids::text[]) and (${has('m.message')} or ${has('m.response')}
      or ${has('s.session_id')} or m.id like '%' || @idEnd::text)`

type PlaceOf = Place & Pick<Source, 'source'>
const look: Look = {
  dialect: searched,
  mostRows: 2_000,
  *read(sources, statement: Sql<object, Place>, parameters) {
    const given = { ...parameters, sources: JSON.stringify(sources) }
    const places = Map.groupBy(
      (yield* all(statement, given)) as readonly PlaceOf[],
      ({ source }) => source,
    )
    return sources.map(({ source }) => places.get(source) ?? [])
  },
  *withText(places, text, limit) {
    const ids = places.map(({ id }) => id)
    const rows =
      ids.length === 0 ? [] : yield* all(withTextSql, { ids, text, idEnd: idEndIn(text) })
    const found = new Set(rows.map(({ id }) => id))
    return places.filter(({ id }) => found.has(id)).slice(0, limit)
  },
}

/** `MessageStore.search`, in bounded statements. */
export const searchMessages = (wanted: MessageSearch, page: PageOf, mostRows?: number) =>
  search(look, wanted, page, mostRows)
