export default {
  async payer({ message, ask }) {
    const decision = await ask(`Pay ${message}?`, { options: ['approve', 'reject'] })
    if (decision === 'reject') return 'Not paid.'
    const number = await ask('What is the number of the order?', {
      schema: { type: 'integer', minimum: 1 },
    })
    // Code after the last question runs once, unless the run fails.
    return `Paid ${message} for order ${number}.`
  },
}
