import { ok, safeTry } from 'neverthrow'
import { resealAgent } from '../domain/agent.js'
import { resealWebhook } from '../domain/webhook.js'
import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'

/** Where a walk over all that is sealed goes on. */
export type ResealPlace = { readonly of: 'webhooks' | 'agents'; readonly after: number }

/** Of the rows that this call came by, of all projects. `unopened`: none of the keys at hand opens them. With `next` the caller goes on. */
export type ResealedSecrets = {
  readonly resealed: number
  readonly unopened: number
  readonly next?: ResealPlace
}

/** Rows of one step, which is a commit of its own: everybody else's writes come between two. */
const STEP = 100

/**
 * Seals with the present master key what another one has sealed: secrets and headers of webhooks, and secrets of agents. What cannot be
 * opened stays as it is. Each call goes one step; repeated, from any place, it does what is left.
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
