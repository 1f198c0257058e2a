// Plays a conversation with the model at the base URL that is its argument, and
// prints what the client made of each answer: plain, then streamed.

import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'none', maxRetries: 0 });
const question = {
  model: 'scripted',
  messages: [{ role: 'user', content: 'Where is order 7?' }],
  tools: [{ type: 'function', function: { name: 'get_order', parameters: { type: 'object' } } }],
};

async function ask(stream) {
  try {
    const completion = stream
      ? await client.chat.completions.stream({ ...question, stream: true }).finalChatCompletion()
      : await client.chat.completions.create(question);
    const { message, finish_reason: finish } = completion.choices[0];
    const calls = (message.tool_calls ?? []).map((call) => [call.id, call.function.name, call.function.arguments]);
    return { finish, text: message.content ?? '', refusal: message.refusal ?? '', calls };
  } catch (error) {
    return { error: error.status ?? 'broken' };
  }
}

const models = await client.models.list();
console.log(JSON.stringify(models.data.map((model) => model.id)));
for (const stream of [false, true]) {
  for (let i = 0; i < 6; i++) console.log(JSON.stringify(await ask(stream)));
}
