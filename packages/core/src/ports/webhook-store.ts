import type { Instant } from '../domain/instant.js'
import type { Webhook, WebhookChange } from '../domain/webhook.js'
import type { Page, PageOf, ResealedRows, ResealStep, Stored } from './stored.js'

/** Receivers. What changes here holds for the next event and the next claim. */
export interface WebhookStore {
  /** `limit_reached` when the project has `limit` webhooks already. */
  create(webhook: Webhook, limit: number): Stored<'created' | 'limit_reached'>
  get(projectId: string, id: string): Stored<Webhook | undefined>
  /** Newest first. */
  list(projectId: string, page: PageOf): Stored<Page<Webhook>>
  update(projectId: string, id: string, change: WebhookChange): Stored<Webhook | undefined>
  /** The current secret becomes the previous one until `previousUntil`, and `secret` the current one, in one step. */
  rotateSecret(projectId: string, id: string, rotation: SecretRotation): Stored<Webhook | undefined>
  /** At once and cheap, whatever its backlog: its open deliveries are never claimed again, and `cancelOrphans` ends them. */
  delete(projectId: string, id: string): Stored<boolean>
  /** What is sealed of those that are not deleted. All else of them stays. */
  reseal(step: ResealStep<Webhook>): Stored<ResealedRows>
}

export type SecretRotation = {
  readonly secret: Webhook['secret']
  readonly previousUntil: Instant
  readonly updatedAt: Instant
}
