import type { AuditEntry } from '../domain/access/audit.js'
import type { HookOfMessage } from '../domain/messages/message-hook.js'
import type { Webhook, WebhookChange } from '../domain/webhooks/webhook.js'
import type { MessageRef } from './message-store.js'
import type { Page, PageOf, ResealedRows, ResealStep, Stored } from './stored.js'

/**
 * Webhooks of projects, and hooks of messages. A change applies to the next event and the next
 * claim.
 */
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
   * Deletes the webhook at once, with any backlog. No claim takes its open deliveries after
   * the commit, and `cancelOrphans` ends them.
   */
  delete(projectId: string, id: string, audit?: AuditEntry): Stored<boolean>
  /**
   * Stores a hook of a message, or changes the one with the same id. The message's next event gets
   * a delivery for the hook. Changes nothing if the message has another hook with this name, or
   * already `limit` hooks.
   */
  setHook(hook: HookOfMessage, agentId: string, limit: number): Stored<HookSet>
  /** Lists the hooks of a message, oldest first. No other list has them. */
  hooksOf(ref: MessageRef): Stored<HookOfMessage[]>
  /**
   * Deletes a hook as `delete` does. `MessageStore.sweep` then deletes its deliveries, and its
   * receiver if no other hook has it.
   */
  deleteHook(ref: MessageRef, name: string): Stored<boolean>
  /** Reseals the secrets of webhooks and hooks that are not deleted, and changes nothing else. */
  reseal(step: ResealStep<Webhook>): Stored<ResealedRows>
}

export type HookSet = 'set' | 'name_taken' | 'limit_reached' | 'message_not_found'
