import type { Message } from '@org/agent-messaging-core'
import { errorOf } from '@org/agent-messaging-core/host'
import { openInput } from '@org/agent-messaging-core/storage'
import {
  allowChat,
  ChatSession,
  readObject,
  refuseField,
  refuseAs,
  reply,
  replyAnswer,
  replyEmpty,
  withDefaults,
  endpointApp,
  type EndpointOptions,
  type KitEnv,
  type KitContext,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { readAnswer, readRequest } from './input.js'
import { UiChunks } from './ui-chunks.js'
import { clientIdOf, uiMessages } from './ui-messages.js'

const ROOT = '/ai-sdk/v1'

type Deps = ReturnType<typeof withDefaults<EndpointOptions>>

/**
 * Creates the routes under `/ai-sdk/v1`, for chats with `useChat` of the AI SDK. Serve its `fetch`,
 * or mount the app in a Hono app with `host.route('/', createAiSdkEndpoint(…))`.
 */
export function createAiSdkEndpoint(options: EndpointOptions): Hono {
  const d = withDefaults(options)
  const chatOf = (c: KitContext) => new ChatSession(c, d, c.req.param('chat') ?? '')
  const routes = new Hono<KitEnv>()
    .post('/:agent', allowChat(d, 'messages.send'), async (c) => {
      const { chat: id, regenerates, sent, names } = readRequest(await readObject(c, d))
      const chat = new ChatSession(c, d, id)
      const message = regenerates
        ? await regenerated(chat, sent.id)
        : (await chat.send(sent).catch(refuseAs(names))).message
      return stream(c, d, message)
    })
    .get('/:agent/:chat/stream', allowChat(d, 'messages.stream'), async (c) => {
      const [oldest] = await chatOf(c).open()
      return oldest && !openInput(oldest) ? stream(c, d, oldest) : replyEmpty(c)
    })
    .get('/:agent/:chat/messages', allowChat(d, 'messages.list'), async (c) =>
      reply(c, 200, (await chatOf(c).messages()).flatMap(uiMessages)),
    )
    .post('/:agent/:chat/stop', allowChat(d, 'messages.cancel'), async (c) => {
      await chatOf(c).cancel()
      return replyEmpty(c)
    })
    .post('/:agent/:chat/answer', allowChat(d, 'inputs.answer'), async (c) => {
      await chatOf(c).answer(readAnswer(await readObject(c, d)))
      return replyEmpty(c)
    })
  return endpointApp(d, ROOT, routes)
}

async function regenerated(chat: ChatSession, id: string): Promise<Message> {
  const message = await chat.find((one) => clientIdOf(one) === id)
  return message && errorOf(message.state)
    ? chat.retry(message)
    : refuseField('trigger', 'cannot be regenerate-message: the message has not failed')
}

async function stream(c: KitContext, d: Deps, message: Message): Promise<Response> {
  const answer = await replyAnswer(c, d, message, new UiChunks())
  answer.headers.set('X-Vercel-AI-UI-Message-Stream', 'v1')
  answer.headers.set('Cache-Control', 'no-cache, no-transform')
  return answer
}
