import { ok, safeTry } from 'neverthrow'
import { resealAgent } from '../domain/agent.js'
import { resealWebhook } from '../domain/webhook.js'
import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'

/** The position of a walk over all secrets. */
export type ResealPlace = { readonly of: 'webhooks' | 'agents'; readonly after: number }

/**
 * Counts of the rows that this call reached, in all projects. `unopened`: no key opens them. With
 * `next` the caller continues.
 */
export type ResealedSecrets = {
  readonly resealed: number
  readonly unopened: number
  readonly next?: ResealPlace
}

/** Rows per commit. Other writes run between two commits. */
const STEP = 100

/**
 * Reseals, with the present master key, the secrets and headers of webhooks and the secrets of
 * agents. A secret that no key opens stays as it is. A call does one step. A repeated call, from
 * any position, does the rest.
 */
export const resealSecrets =
  (d: Platform) =>
  ({ of, after }: ResealPlace = { of: 'webhooks', after: 0 }): Stored<ResealedSecrets> =>
    safeTry(async function* () {
      const { next, ...found } = yield* step(d, of, after)
      if (next !== undefined) return ok({ ...found, next: { of, after: next } })
      return ok({
        ...found,
        ...(of === 'webhooks' && { next: { of: 'agents', after: 0 } as const }),
      })
    })

function step({ storage, crypto }: Platform, of: ResealPlace['of'], after: number) {
  const bounds = { after, limit: STEP }
  return of === 'webhooks'
    ? storage.webhooks.reseal({
        ...bounds,
        reseal: (webhook) => resealWebhook(webhook, crypto.reseal),
      })
    : storage.agents.reseal({ ...bounds, reseal: (agent) => resealAgent(agent, crypto.reseal) })
}
