import { expect, it } from 'vitest'
import { runQuestions } from './questions.js'

it.each(['sqlite', 'postgres'] as const)(
  'no kill loses a question, doubles an answer or gives it to another question on %s',
  { timeout: 600_000 },
  async (store) => {
    const { messages, answers, ...found } = await runQuestions({ store, kills: 4, open: 8 })
    expect(messages).toBeGreaterThan(0)
    expect(answers).toBeGreaterThan(0)
    expect(found).toMatchObject({
      lostMessages: 0,
      lostQuestions: 0,
      doubleAnswers: 0,
      wrongAnswers: 0,
      unexpectedExits: [],
    })
  },
)
