import { describe, expect, it } from 'vitest'
import { openScene, saying } from './scene.js'

const many = Array.from({ length: 21 }, (_, index) => ({
  type: 'image',
  source: { type: 'url', value: `https://files.example/${index}`, mimeType: 'image/png' },
}))
const image = (source: object) => [
  { type: 'text', text: 'Look' },
  { type: 'image', source },
]

describe('a request', () => {
  it.each([
    [{ threadId: undefined }, 'threadId is required'],
    [{ threadId: 7 }, 'threadId must be a text'],
    [{ threadId: 't'.repeat(300) }, 'threadId must have at most 256 characters'],
    [{ runId: '' }, 'runId is required'],
    [{ messages: {} }, 'messages must be a list'],
    [{ messages: [] }, 'messages must end with a message of the user'],
    [{ messages: [7] }, 'messages.0.role must be one of: user'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages.0.role must be one of: user'],
    [
      { messages: [{ role: 'user', content: '' }] },
      'messages.0.content must be a non-empty string',
    ],
    [{ messages: [{ role: 'user', content: 7 }] }, 'messages.0.content.0 must be a text'],
    [{ messages: [{ id: 'x'.repeat(20_000), role: 'user', content: 'x' }] }, 'messages.0.id'],
    [
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'tool', id: 't', toolCallId: 'c', content: 'result' },
        ],
      },
      'messages must end with a message of the user',
    ],
    [{ resume: [{}] }, 'resume.0.interruptId must be a text'],
    [{ resume: [{ interruptId: 'x', status: 'done' }] }, 'resume.0.status must be resolved'],
    [{ resume: [{ interruptId: 'x', status: 'resolved' }, {}] }, 'resume must have one entry'],
    [{ tools: {} }, 'tools must be a list'],
    [{ config: {} }, 'config is not a field of a run'],
    [{ state: 'x'.repeat(70_000) }, 'forwardedProps must have at most 65536 characters'],
  ])('%#: %j is refused', async (fields, message) => {
    const { refusalOf, messagesOf } = await openScene()
    const refused = await refusalOf('echo', saying('Hi', fields))
    const error = { code: 'BAD_REQUEST', message: expect.stringContaining(message) as string }
    expect(refused).toMatchObject([400, error])
    expect(await messagesOf('echo')).toEqual([])
  })

  it.each([
    [[{ type: 'text' }], 'messages.0.content.0 must be a text'],
    [['x'], 'messages.0.content.0 must be a text'],
    [[{ type: 'binary' }], 'messages.0.content.0 must be a text, or one of: image'],
    [
      image({ type: 'data', value: 'AA==', mimeType: 'image/png' }),
      'content.1.source.type must be',
    ],
    [image({ type: 'url', value: 'data:image/png;base64,AA' }), 'messages.0.content.1.url must be'],
    [
      [{ type: 'text', text: 'x' }, ...many],
      'files, state, tools, context and forwardedProps must be a list of at most 20 parts',
    ],
  ])('%#: the content %j is refused', async (content, message) => {
    const { refusalOf } = await openScene()
    const error = { message: expect.stringContaining(message) as string }
    expect(await refusalOf('echo', saying(content))).toMatchObject([400, error])
  })

  it('is refused if it is no object of JSON, or too large', async () => {
    const { refusalOf } = await openScene({}, { maxBodyBytes: 1_000 })
    expect(await refusalOf('echo', ['x'])).toMatchObject([400, { code: 'BAD_REQUEST' }])
    const large = saying('x'.repeat(1_000))
    expect(await refusalOf('echo', large)).toMatchObject([413, { code: 'PAYLOAD_TOO_LARGE' }])
  })

  it('brings its data to the agent, and empty values bring nothing', async () => {
    const { messagesOf, run } = await openScene()
    const empty = { state: {}, tools: [], context: [], forwardedProps: {}, resume: [] }
    const given = { state: { page: 1 }, context: [{ description: 'a', value: 'b' }] }
    await run('echo', saying('one', empty))
    await run('echo', saying('two', { ...empty, ...given, runId: 'r-2' }))
    await run('echo', saying('three', { ...empty, state: null, parentRunId: 'r', runId: 'r-3' }))
    const parts = (await messagesOf('echo')).map(({ inputParts }) => inputParts)
    expect(parts).toEqual([undefined, [{ type: 'data', name: 'ag-ui', data: given }], undefined])
  })

  it('without data reaches an agent that takes text only', async () => {
    const { refusalOf, post, messagesOf } = await openScene()
    const answer = await post('text', saying('Hi', { state: {}, tools: [] }))
    expect(answer.status).toBe(200)
    await answer.body?.cancel()
    const refused = await refusalOf('text', saying('Hi', { state: { a: 1 }, runId: 'r-2' }))
    expect(refused).toMatchObject([400, { message: 'state is not supported' }])
    expect(await messagesOf('text')).toHaveLength(1)
  })

  it('with a used run id and another message is refused', async () => {
    const { refusalOf, run } = await openScene()
    await run('echo', saying('one'))
    expect(await refusalOf('echo', saying('two'))).toMatchObject([
      422,
      { message: expect.stringMatching(/^runId was already used/) },
    ])
  })

  it('reaches only the sessions of its token', async () => {
    const { projectId, refusalOf, run, service } = await openScene()
    const { token } = await service.sessionTokens.create({
      projectId,
      sessions: { prefix: 'alice:' },
    })
    const own = { threadId: 'alice:1' }
    expect((await run('echo', saying('Hi', own), token)).at(-1)?.type).toBe('RUN_FINISHED')
    expect((await run('echo/connect', { ...own, runId: 'c' }, token))[1]).toMatchObject({
      messages: [{ content: 'Hi' }, { content: 'Hi' }],
    })
    expect(await refusalOf('echo', saying('Hi'), token)).toMatchObject([404, {}])
  })
})
