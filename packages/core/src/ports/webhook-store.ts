import type { AuditEntry } from '../domain/audit.js'
import type { Instant } from '../domain/instant.js'
import type { Webhook, WebhookChange } from '../domain/webhook.js'
import type { Page, PageOf, ResealedRows, ResealStep, Stored } from './stored.js'

/** Webhooks. A change applies to the next event and the next claim. */
export interface WebhookStore {
  /** Creates the webhook. Returns `limit_reached` if the project has `limit` webhooks already. */
  create(webhook: Webhook, limit: number, audit?: AuditEntry): Stored<'created' | 'limit_reached'>
  get(projectId: string, id: string): Stored<Webhook | undefined>
  /** Lists webhooks, newest first. */
  list(projectId: string, page: PageOf): Stored<Page<Webhook>>
  update(
    projectId: string,
    id: string,
    change: WebhookChange,
    audit?: AuditEntry,
  ): Stored<Webhook | undefined>
  /**
   * Sets `secret`, and keeps the present secret as the previous one until `previousUntil`, in one
   * step.
   */
  rotateSecret(
    projectId: string,
    id: string,
    rotation: SecretRotation,
    audit?: AuditEntry,
  ): Stored<Webhook | undefined>
  /**
   * Deletes the webhook at once, with any backlog. No claim takes its open deliveries after
   * the commit, and `cancelOrphans` ends them.
   */
  delete(projectId: string, id: string, audit?: AuditEntry): Stored<boolean>
  /** Reseals the secrets of webhooks that are not deleted, and changes nothing else. */
  reseal(step: ResealStep<Webhook>): Stored<ResealedRows>
}

export type SecretRotation = {
  readonly secret: Webhook['secret']
  readonly previousUntil: Instant
  readonly updatedAt: Instant
}
