"""Small chat templates with the ways in which well-known families are told to think, or not to."""

DEEPSEEK_V31 = (
    "{% if not thinking is defined %}{% set thinking = false %}{% endif %}{{ bos_token }}"
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ message['content'] }}"
    "{% elif message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}"
    "{% else %}{{ '<｜Assistant｜></think>' + message['content'] + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<｜Assistant｜>' + ('<think>' if thinking else '</think>') }}{% endif %}"
)

GRANITE = (
    "{% for message in messages %}{{ '<|' + message.role + '|>' + message.content + '\n' }}{% endfor %}"
    "{% if thinking %}{{ '<|system|>Think step by step.\n' }}{% endif %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

GPT_OSS = (
    "{{ '<|start|>system<|message|>Reasoning: ' + (reasoning_effort | default('medium')) + '<|end|>' }}"
    "{% for message in messages %}{{ '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"
)

SOLAR = (
    "{% set reasoning_effort = reasoning_effort if reasoning_effort is defined else 'high' %}"
    "{% for message in messages %}{{ '<|begin|>' + message.role + message.content + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|begin|>assistant' }}"
    "{% if reasoning_effort in ['low', 'minimal'] %}{{ '<|think|><|end|>' }}{% endif %}{% endif %}"
)

HY3 = (
    "{% if not reasoning_effort is defined %}{% set reasoning_effort = 'no_think' %}"
    "{% elif reasoning_effort not in ['high', 'low', 'no_think'] %}"
    "{{ raise_exception('should be no_think/low/high') }}{% endif %}"
    "{% for message in messages %}{{ '<|' + message.role + '|>' + message.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>effort:' + reasoning_effort }}"
    "{{ '<think></think>' if reasoning_effort == 'no_think' else '<think>' }}{% endif %}"
)

SEED_OSS = (
    "{% if not thinking_budget is defined %}{% set thinking_budget = -1 %}{% endif %}"
    "{% if thinking_budget == 0 %}{{ '<seed:bos>system\nDo not think.<seed:eos>' }}"
    "{% elif thinking_budget > 0 %}{{ '<seed:bos>system\nThink ' ~ thinking_budget ~ ' tokens.<seed:eos>' }}{% endif %}"
    "{% for message in messages %}{{ '<seed:bos>' + message.role + '\n' }}{% if message.reasoning_content %}"
    "{{ '<seed:think>' + message.reasoning_content + '</seed:think>' }}{% endif %}"
    "{{ message.content + '<seed:eos>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<seed:bos>assistant\n' }}{% endif %}"
)

NEMOTRON_NANO = r"""
{%- set ns = namespace(think=true) %}
{%- for message in messages %}
    {%- if message.role in ['user', 'system'] %}
        {%- if '/think' in message.content %}{% set ns.think = true %}
        {%- elif '/no_think' in message.content %}{% set ns.think = false %}{% endif %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {{- '<SPECIAL>' + message.role + '\n' }}
    {{- message.content.replace('/think', '').replace('/no_think', '').strip() + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<SPECIAL>assistant\n' + ('<think>\n' if ns.think else '<think></think>') }}
{%- endif %}
"""

MINIMAX = (
    "{% for message in messages %}{{ ']~b]' + message.role + '\n' + message.content + '[e~[\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ ']~b]ai\n' }}{% if thinking_mode is defined and thinking_mode == 'disabled' %}"
    "{{ '</mm:think>' }}{% elif thinking_mode is defined and thinking_mode == 'enabled' %}{{ '<mm:think>' }}"
    "{% endif %}{% endif %}"
)

CLEARS = (
    "{% for message in messages %}{{ '<|' + message.role + '|>' }}"
    "{% if message.reasoning_content and clear_thinking is defined and not clear_thinking %}"
    "{{ '<think>' + message.reasoning_content + '</think>' }}{% endif %}{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
