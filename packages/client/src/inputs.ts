import { segment, type Http } from './http.js'
import { rowsOf } from './pages.js'
import type { Message } from './resources.js'

export const inputsOf = (http: Http) => ({
  /** Lists the messages that wait for a person, newest first. */
  list: (filter: { readonly endUserId?: string } = {}): AsyncGenerator<Message, void, undefined> =>
    rowsOf(http, '/v1/inputs', filter),
  /** Withdraws a question. Its message fails. */
  withdraw: (agent: string, messageId: string, inputId: string): Promise<Message> => {
    const path = `/v1/agents${segment(agent)}/messages${segment(messageId)}/input/withdraw`
    return http.json({ method: 'POST', path, body: { inputId }, retryable: true })
  },
})
