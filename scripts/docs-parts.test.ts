import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AgentFunction } from '@org/agent-messaging-core'
import { createMessaging } from '@org/agent-messaging-node'
import { afterAll, expect, it } from 'vitest'

// Runs the helpers of docs/parts.md with streams as the libraries make them.

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUILD = path.join(ROOT, 'build/docs-parts')
const page = readFileSync(path.join(ROOT, 'docs/parts.md'), 'utf8')

afterAll(() => rmSync(BUILD, { recursive: true }))

type Helper = (stream: unknown) => AsyncIterable<string>

async function exported(name: string): Promise<unknown> {
  const pieces = [...page.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
  const piece = pieces.find((text) => text.includes(`export ${name}`)) ?? ''
  const file = path.join(BUILD, `${name.replaceAll(/\W/g, '')}.mjs`)
  mkdirSync(BUILD, { recursive: true })
  writeFileSync(file, piece)
  const module = (await import(file)) as Record<string, unknown>
  return Object.values(module)[0]
}

/** Returns the message that the agent answers. */
async function answered(agent: AgentFunction) {
  const messaging = await createMessaging({
    database: ':memory:',
    agents: { agent },
    telemetry: { record: () => undefined },
  })
  try {
    const { messageId } = await messaging.messages.send({
      agent: 'agent',
      sessionId: 's',
      message: 'Where is 17?',
    })
    return await messaging.messages.get({ agent: 'agent', messageId })
  } finally {
    await messaging.stop()
  }
}

const input = { toolName: 'orderStatus', input: { id: '17' } }
const call = { type: 'tool', toolCallId: 'c1', ...input, state: 'output-available' }

it('the agent of the page has the answer of the page', async () => {
  const agents = (await exported('default')) as { readonly support: AgentFunction }
  const shown = /^```json\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '{}'
  expect(await answered(agents.support)).toMatchObject(JSON.parse(shown) as object)
})

const tool = { toolCallId: 'c1', toolName: 'orderStatus' }
const ITEM = { type: 'run_item_stream_event' }
const STREAMS: Readonly<
  Record<string, { readonly stream: readonly object[]; readonly parts: readonly object[] }>
> = {
  partsOfAiSdk: {
    stream: [
      { type: 'start' },
      { type: 'start-step', request: {}, warnings: [] },
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', text: 'Look it up' },
      { type: 'tool-input-start', id: 'c1', toolName: 'orderStatus', dynamic: false },
      { type: 'tool-input-delta', id: 'c1', delta: '{"id":"17"}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'tool-call', ...tool, input: { id: '17' }, providerMetadata: {} },
      { type: 'tool-result', ...tool, input: { id: '17' }, output: 'soon', preliminary: true },
      { type: 'tool-result', ...tool, input: { id: '17' }, output: 'Friday' },
      { type: 'finish-step', usage: {} },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://shop.example/', title: 'Shop' },
      { type: 'source', sourceType: 'document', id: 't', mediaType: 'text/plain', title: 'Note' },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'pay', input: {} },
      { type: 'tool-error', toolCallId: 'c2', toolName: 'pay', error: new Error('no money') },
      { type: 'text-delta', id: 't', text: 'On Fri' },
      { type: 'text-delta', id: 't', text: 'day' },
      { type: 'finish' },
    ],
    parts: [
      { type: 'step' },
      { type: 'reasoning', text: 'Look it up' },
      { ...call, output: 'Friday' },
      { type: 'source-url', sourceId: 's', url: 'https://shop.example/', title: 'Shop' },
      {
        type: 'tool',
        toolCallId: 'c2',
        toolName: 'pay',
        input: {},
        state: 'output-error',
        errorText: 'Error: no money',
      },
      { type: 'text', text: 'On Friday' },
    ],
  },
  partsOfLangGraph: {
    stream: [
      [{ text: '', tool_call_chunks: [{ id: 'c1', name: 'orderStatus', args: '', index: 0 }] }],
      [{ text: '', tool_call_chunks: [{ args: '{"id":', index: 0 }] }],
      [{ text: '', tool_call_chunks: [{ args: '"17"}', index: 0 }] }],
      [{ tool_call_id: 'c1', content: 'Friday', text: 'Friday', status: 'success' }],
      [{ text: '', tool_call_chunks: [{ id: 'c2', name: 'pay', args: '', index: 0 }] }],
      [{ tool_call_id: 'c2', content: 'no money', text: 'no money', status: 'error' }],
      [{ text: '', tool_calls: [{ id: 'c3', name: 'find', args: { id: '17' } }] }],
      [{ tool_call_id: 'c3', content: 'Ulm', text: 'Ulm', status: 'success' }],
      [{ text: 'On Friday' }],
    ],
    parts: [
      { ...call, output: 'Friday' },
      {
        type: 'tool',
        toolCallId: 'c2',
        toolName: 'pay',
        input: {},
        state: 'output-error',
        errorText: 'no money',
      },
      { ...call, toolCallId: 'c3', toolName: 'find', output: 'Ulm' },
      { type: 'text', text: 'On Friday' },
    ],
  },
  partsOfOpenAiAgents: {
    stream: [
      { type: 'agent_updated_stream_event' },
      {
        ...ITEM,
        name: 'reasoning_item_created',
        item: { rawItem: { id: 'r', content: [{ type: 'input_text', text: 'Look it up' }] } },
      },
      {
        ...ITEM,
        name: 'tool_called',
        item: { rawItem: { callId: 'c1', name: 'orderStatus', arguments: '{"id":"17"}' } },
      },
      { ...ITEM, name: 'tool_output', item: { rawItem: { callId: 'c1' }, output: 'Friday' } },
      { type: 'raw_model_stream_event', data: { type: 'output_text_delta', delta: 'On Friday' } },
      { ...ITEM, name: 'message_output_created', item: { rawItem: { content: [] } } },
    ],
    parts: [
      { type: 'reasoning', text: 'Look it up' },
      { ...call, output: 'Friday' },
      { type: 'text', text: 'On Friday' },
    ],
  },
}

it.each(Object.entries(STREAMS))('%s forwards text and parts', async (name, { stream, parts }) => {
  const helper = (await exported(`async function* ${name}`)) as Helper
  const message = await answered(() =>
    helper({
      async *[Symbol.asyncIterator]() {
        yield* stream
      },
    }),
  )
  expect(message).toMatchObject({ response: 'On Friday', parts })
  expect(message.parts).toHaveLength(parts.length)
})
