import { ok, safeTry } from 'neverthrow'
import type { Agent } from '../domain/agents/agent.js'
import {
  fieldsOfAgent,
  type AgentFields,
  type DeclaredDigests,
} from '../domain/agents/declared-agent.js'
import { canonicalJson, type Json } from '../domain/values/json.js'
import type { Platform } from '../platform.js'
import type { Crypto } from '../ports/platform.js'
import { unsealSecrets } from './agent-host.js'
import { chain, type Chained } from '../pacing/chain.js'

/** The agents that code has declared, by `declaredKey`. Deleted agents stay in it. */
export type DeclaredRecords = Readonly<Record<string, DeclaredDigests>>

const SETTING = 'declared-agents'

export const declaredKey = (projectId: string, name: string): string => `${projectId}/${name}`

export const readDeclared = ({ storage }: Pick<Platform, 'storage'>): Chained<DeclaredRecords> =>
  chain(storage.credentials.readSetting(SETTING)).map(parse)

/** Repeats the change if another process has changed the records in between. */
export const changeDeclared = (
  { storage: { credentials } }: Pick<Platform, 'storage'>,
  change: (records: DeclaredRecords) => DeclaredRecords,
): Chained<void> =>
  safeTry(async function* () {
    for (;;) {
      const stored = yield* chain(credentials.readSetting(SETTING))
      const changed = JSON.stringify(change(parse(stored)))
      if (changed === stored) return ok(undefined)
      if (yield* chain(credentials.replaceSetting(SETTING, stored, changed))) return ok(undefined)
    }
  })

const parse = (stored: string | undefined): DeclaredRecords =>
  JSON.parse(stored ?? '{}') as DeclaredRecords

/** Digests of one agent's fields. Equal values of two fields or agents have different digests. */
export function digestsOf(crypto: Crypto, key: string) {
  const data = (field: string, value: Json): string => canonicalJson([key, field, value])
  return {
    of: (field: string, value: Json): string => crypto.mac(SETTING, data(field, value)),
    fits: (field: string, value: Json, digest: string): boolean =>
      crypto.isMac(SETTING, data(field, value), digest),
  }
}

export const storedFields = (crypto: Crypto, agent: Agent): AgentFields =>
  fieldsOfAgent({
    ...agent,
    runtime: { ...agent.runtime, secrets: unsealSecrets(crypto, agent) ?? {} },
  })

/**
 * Writes the digests with the present master key. A digest does not tell its value, so it stays
 * as it is if a person has changed the field. Later starts then take it for a person's field.
 */
export const resealDeclared = (d: Pick<Platform, 'crypto' | 'storage'>): Chained<void> =>
  safeTry(async function* () {
    const fields = new Map<string, AgentFields>()
    for (const key of Object.keys(yield* readDeclared(d))) {
      const [projectId = '', name = ''] = key.split('/')
      const agent = yield* chain(d.storage.agents.get(projectId, name))
      if (agent) fields.set(key, storedFields(d.crypto, agent))
    }
    return changeDeclared(d, (records) =>
      Object.fromEntries(
        Object.entries(records).map(([key, record]) => [
          key,
          resealed(d.crypto, key, record, fields.get(key) ?? {}),
        ]),
      ),
    )
  })

function resealed(
  crypto: Crypto,
  key: string,
  record: DeclaredDigests,
  fields: AgentFields,
): DeclaredDigests {
  const digests = digestsOf(crypto, key)
  return Object.fromEntries(
    Object.entries(record).map(([field, digest]) => {
      const { [field]: value } = fields
      const isKnown = value !== undefined && digests.fits(field, value, digest)
      return [field, isKnown ? digests.of(field, value) : digest]
    }),
  )
}
