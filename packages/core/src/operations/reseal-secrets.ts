import { ok, safeTry } from 'neverthrow'
import { resealDeclared } from '../agents/declared-records.js'
import { resealAgent } from '../domain/agents/agent.js'
import { resealWebhook } from '../domain/webhooks/webhook.js'
import { adoptMasterKey } from '../maintenance/master-key.js'
import type { Platform } from '../platform.js'
import { chain } from '../pacing/chain.js'

/** The position of a walk over all secrets, and the rows before it that no key opens. */
export type ResealPlace = {
  readonly of: 'webhooks' | 'agents'
  readonly after: number
  readonly unopened: number
}

/**
 * Counts of the rows that this call reached, in all projects. `unopened`: no key opens them. With
 * `next` the caller continues.
 */
export type ResealedSecrets = {
  readonly resealed: number
  readonly unopened: number
  readonly next?: ResealPlace
}

/** `from`: the `next` of the call before. Absent: the beginning. */
export type ResealInput = { readonly from?: ResealPlace | undefined }

/** Rows per commit. Other writes run between two commits. */
const STEP = 100

export const resealSecrets =
  (d: Pick<Platform, 'crypto' | 'storage'>) =>
  ({ from: { of, after, unopened: before } = START }: ResealInput) =>
    safeTry(async function* () {
      const { next, ...found } = yield* chain(step(d, of, after))
      const unopened = before + found.unopened
      if (next !== undefined) return ok({ ...found, next: { of, after: next, unopened } })
      if (of === 'webhooks')
        return ok({ ...found, next: { of: 'agents' as const, after: 0, unopened } })
      if (unopened > 0) return ok(found)
      yield* resealDeclared(d)
      yield* adoptMasterKey(d.storage, d.crypto)
      return ok(found)
    })

const START: ResealPlace = { of: 'webhooks', after: 0, unopened: 0 }

function step(
  { storage, crypto }: Pick<Platform, 'crypto' | 'storage'>,
  of: ResealPlace['of'],
  after: number,
) {
  const bounds = { after, limit: STEP }
  return of === 'webhooks'
    ? storage.webhooks.reseal({
        ...bounds,
        reseal: (webhook) => resealWebhook(webhook, crypto.reseal),
      })
    : storage.agents.reseal({ ...bounds, reseal: (agent) => resealAgent(agent, crypto.reseal) })
}
