import { ok, safeTry } from 'neverthrow'
import { isUuid } from '../domain/values/input-rules.js'
import { fail } from '../domain/values/fail.js'
import type { Message } from '../domain/messages/message.js'
import type { MessageInput } from '../domain/messages/message-input.js'
import type { Platform } from '../platform.js'
import type { CancelContext } from './change-messages.js'
import { isCode } from './input-link.js'
import { answerFound } from './inputs.js'
import { chain } from '../pacing/chain.js'

export type InputLink = { readonly messageId: string; readonly token: string }

export type LinkedInput = {
  readonly agentName: string
  readonly message: Message
  readonly input: MessageInput
}

export const readByLink =
  (d: Pick<Platform, 'storage' | 'crypto' | 'byCode'>) =>
  ({ messageId, token }: InputLink) =>
    safeTry(async function* () {
      if (!isUuid(messageId) || !isCode(token)) return fail('input_not_found')
      const id = messageId.toLowerCase()
      const found = yield* d.byCode(() => chain(d.storage.messages.getHeld(id)))
      const digest = d.crypto.sha256(token)
      const input = found?.message.inputs?.find(
        ({ linkDigest }) => linkDigest !== undefined && d.crypto.equal(linkDigest, digest),
      )
      if (!found || !input) return fail('input_not_found')
      const { message } = found
      const agent = yield* chain(d.storage.agents.get(message.projectId, message.agentId))
      return agent ? ok({ agentName: agent.name, message, input }) : fail('input_not_found')
    })

export const answerByLink =
  (d: CancelContext & Pick<Platform, 'byCode' | 'crypto'>) =>
  ({ value, ...link }: InputLink & { readonly value: unknown }) =>
    safeTry(async function* () {
      const { message, input } = yield* readByLink(d)(link)
      const { executionPrincipal } = message
      return answerFound(d, message, {
        actor: { kind: 'link' },
        inputId: input.id,
        value,
        executionPrincipal,
      })
    })
