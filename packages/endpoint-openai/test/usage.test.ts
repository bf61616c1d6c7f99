import { describe, expect, it } from 'vitest'
import { response } from './open-responses.js'
import { openScene } from './scene.js'

const messages = [{ role: 'user' as const, content: 'Hello' }]
const tokens = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }

describe('the tokens that a run reports', () => {
  it('are the usage of a response', async () => {
    const { client } = await openScene()
    const created = await client.responses.create({ model: 'counting', input: 'Hello' })
    const usage = { input_tokens: 12, output_tokens: 3, total_tokens: 15 }
    expect(response.parse(created).usage).toMatchObject(usage)
    const stream = client.responses.stream({ model: 'counting', input: 'Hello' })
    expect((await stream.finalResponse()).usage).toMatchObject(usage)
  })

  it('are the usage of a chat completion', async () => {
    const { client } = await openScene()
    const { usage } = await client.chat.completions.create({ model: 'counting', messages })
    expect(usage).toEqual(tokens)
  })

  it('come in the last chunk of a stream that asks for them', async () => {
    const { client } = await openScene()
    const chunksOf = async (model: string, asks: boolean) => {
      const options = { stream_options: { include_usage: asks }, stream: true } as const
      const chunks = []
      for await (const chunk of await client.chat.completions.create({
        model,
        messages,
        ...options,
      }))
        chunks.push(chunk)
      return chunks
    }
    const chunks = await chunksOf('counting', true)
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: tokens })
    expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual(chunks.slice(1).map(() => null))
    for (const [model, asks] of [
      ['counting', false],
      ['echo', true],
    ] as const)
      expect((await chunksOf(model, asks)).at(-1)?.choices).toMatchObject([
        { finish_reason: 'stop' },
      ])
  })

  it('are absent if the run reported none', async () => {
    const { client } = await openScene()
    expect((await client.responses.create({ model: 'echo', input: 'Hello' })).usage).toBeNull()
    const completion = await client.chat.completions.create({ model: 'echo', messages })
    expect(completion.usage).toBeUndefined()
  })
})

it('`store: false` is accepted, and the message is stored all the same', async () => {
  const { client, messagesOf } = await openScene()
  const { id } = await client.responses.create({ model: 'echo', input: 'Hello', store: false })
  expect(await client.responses.retrieve(id)).toMatchObject({ store: true, output_text: 'Hello' })
  await client.chat.completions.create({ model: 'echo', messages, store: false })
  expect(await messagesOf('echo')).toHaveLength(2)
})
