export default {
  waiter: async ({ message, history, sessionState = '[]', remember, emit }) => {
    // The answered turns before this message, oldest first: [{ messageId, message, response, … }]
    const turns = await history({ maxTurns: 10, maxLength: 8_000 })
    // The text that the last run of this session stored, in any process.
    const order = [...JSON.parse(sessionState), message]
    await remember(JSON.stringify(order)) // durable when it resolves, at most 16,384 characters

    emit(`Turn ${turns.length + 1}. `) // readers of the stream see this at once
    emit(`Your order: ${order.join(', ')}.`)
    return `Turn ${turns.length + 1}. Your order: ${order.join(', ')}.` // only this is the answer
  },
}
